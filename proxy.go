package heddle

import "net/netip"

// Proxy is an address for which the host answers neighbours on a link of its own, since it routes what comes for it (proxy ARP, RFC 1027;
// proxies of neighbour discovery, RFC 4861, section 7.2.8; "ip neighbour add proxy"). Its protocol is RouteProtocol.
type Proxy struct {
	Link string     `json:"link"`
	Addr netip.Addr `json:"addr"`
}

func (p Proxy) Key() string { return "proxy/" + p.Link + "/" + p.Addr.String() }

func (p Proxy) comparable() any { return p }
