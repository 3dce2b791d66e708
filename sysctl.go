package heddle

// Sysctl is a kernel setting; Name is in slash form ("net/ipv4/ip_forward").
// A setting outlives the plan that wanted it, but for LoopbackWay: what it was
// before cannot be known to be still wanted.
type Sysctl struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func (s Sysctl) Key() string { return "sysctl/" + s.Name }

func (s Sysctl) comparable() any { return s }
