package heddle

// Sysctl is a kernel setting; Name is in slash form ("net/ipv4/ip_forward").
// A setting outlives the plan that wanted it, except LoopbackWay: nobody can know whether
// its earlier value is still wanted.
type Sysctl struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func (s Sysctl) Key() string { return "sysctl/" + s.Name }

func (s Sysctl) comparable() any { return s }
