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

// LoopbackWay lets the host's own callers of 127.0.0.0/8 reach a published port by
// the link (route_localnet, ip-sysctl.rst), if one is published there; the guard
// drops 127.0.0.0/8 that comes by wire. Unlike other settings it goes with the last
// plan that wants it: without a published port nothing of the loopback is to pass.
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
