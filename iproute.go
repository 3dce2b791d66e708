package heddle

import "fmt"

// String writes the route as ip-route(8) takes it.
func (r Route) String() string {
	s := r.Dst.String()
	if r.Type != "" {
		s = r.Type + " " + s
	}
	if r.Via.IsValid() && r.Via.Is6() && r.Dst.Addr().Is4() {
		s += " via inet6 " + r.Via.String()
	} else if r.Via.IsValid() {
		s += " via " + r.Via.String()
	}
	if r.Link != "" {
		s += " dev " + r.Link
	}
	if r.OnLink {
		s += " onlink"
	}
	if r.Src.IsValid() {
		s += " src " + r.Src.String()
	}
	if r.Table != 0 {
		s += fmt.Sprintf(" table %d", r.Table)
	}
	if r.Metric != 0 {
		s += fmt.Sprintf(" metric %d", r.Metric)
	}
	if r.MTU != 0 {
		s += fmt.Sprintf(" mtu %d", r.MTU)
	}
	return s + fmt.Sprintf(" proto %d", RouteProtocol)
}

// String writes the rule as ip-rule(8) takes it.
func (r Rule) String() string {
	s := fmt.Sprintf("priority %d", r.Priority)
	if r.Iif != "" {
		s += " iif " + r.Iif
	}
	if r.From.IsValid() {
		s += " from " + r.From.String()
	}
	if r.To.IsValid() {
		s += " to " + r.To.String()
	}
	return s + fmt.Sprintf(" lookup %d protocol %d", r.Table, RouteProtocol)
}
