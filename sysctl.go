package heddle

import "strings"

// Sysctl is a kernel setting; Name is in slash form ("net/ipv4/ip_forward").
// A setting outlives the plan that wanted it, except LoopbackWay: nobody can know whether
// its earlier value is still wanted.
type Sysctl struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func (s Sysctl) Key() string { return "sysctl/" + s.Name }

func (s Sysctl) comparable() any { return s }

// IPv6Link is the link whose IPv6 the setting is about ("all" and "default" stand for
// themselves), if it is about one.
func (s Sysctl) IPv6Link() (name string, is bool) {
	rest, is := strings.CutPrefix(s.Name, "net/ipv6/")
	_, rest, of := strings.Cut(rest, "/") // conf, neigh
	name, _, in := strings.Cut(rest, "/")
	return name, is && of && in
}
