package heddle

import (
	"fmt"
	"net/netip"
)

// Route is a route. Its protocol is RouteProtocol.
type Route struct {
	Dst netip.Prefix `json:"dst"`
	// Type is "" (unicast), "unreachable", or "blackhole", which tells the sender nothing.
	Type string `json:"type,omitempty"`
	Link string `json:"link,omitempty"`
	// Via is the next hop; of an IPv4 route it may be an IPv6 address (RFC 8950,
	// RTA_VIA).
	Via netip.Addr `json:"via,omitzero"`
	// OnLink accepts a next hop that no connected route covers.
	OnLink bool       `json:"onlink,omitempty"`
	Src    netip.Addr `json:"src,omitzero"`
	MTU    int        `json:"mtu,omitempty"`
	// Metric 0 is the kernel's default (0 for IPv4, 1024 for IPv6).
	Metric uint32 `json:"metric,omitempty"`
	// Table 0 is main.
	Table int `json:"table,omitempty"`
}

func (r Route) Key() string {
	return fmt.Sprintf("route/%d/%s/%d/%s", r.Table, r.Dst, r.Metric, r.Link)
}

func (r Route) comparable() any { return r }

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
