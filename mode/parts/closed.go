package parts

import (
	"hash/crc32"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// ClosedRoutes keep a container from what its NIC must not lead to, as far as it has addresses of that family. They are to be made before any other
// route, and so are removed after them. Each interface of a container has its own, told apart by the metric.
func ClosedRoutes(e heddle.Endpoint, closed []netip.Prefix) (all []heddle.Route) {
	metric := 1 + crc32.ChecksumIEEE([]byte(e.Interface()))>>1
	for _, p := range closed {
		if slices.ContainsFunc(e.Addrs, func(a netip.Prefix) bool { return a.Addr().Is4() == p.Addr().Is4() }) {
			all = append(all, heddle.Route{Dst: p, Type: "unreachable", Metric: metric})
		}
	}
	return all
}
