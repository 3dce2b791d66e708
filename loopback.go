package heddle

import (
	"net/netip"
	"slices"
	"strings"
)

const (
	confIPv4      = "net/ipv4/conf/"
	routeLocalnet = "/route_localnet"
)

// LoopbackWay lets clients on the host that connect to 127.0.0.0/8 reach a published
// port through the link (route_localnet, ip-sysctl.rst), if a port is published there.
// The firewall drops 127.0.0.0/8 that arrives from the wire. Unlike other settings, this
// one is reset with the last plan that wants it: without a published port no loopback
// traffic may pass.
func LoopbackWay(link string, ports []PortMapping) []Sysctl {
	if !slices.ContainsFunc(ports, PortMapping.onLoopback) {
		return nil
	}
	return []Sysctl{{Name: LoopbackWayOf(link), Value: "1"}}
}

// LoopbackWayOf names the setting of a link.
func LoopbackWayOf(link string) string { return confIPv4 + link + routeLocalnet }

// IsLoopbackWay reports whether it is such a setting, and of which link.
func (s Sysctl) IsLoopbackWay() (link string, is bool) {
	link, below := strings.CutPrefix(s.Name, confIPv4)
	link, is = strings.CutSuffix(link, routeLocalnet)
	return link, below && is
}

// onLoopback reports whether the port is published on an address of 127.0.0.0/8,
// or on all of the host's.
func (p PortMapping) onLoopback() bool {
	return !p.HostIP.IsValid() || p.HostIP == netip.IPv4Unspecified() || p.HostIP.Is4() && p.HostIP.IsLoopback()
}
