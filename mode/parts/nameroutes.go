package parts

import (
	"slices"

	"github.com/heddle-network/heddle"
)

// nameRoutes lead the container's questions for names through the network, whatever its default
// route is, so that they arrive from an address that the guards keep true. Their metric is the
// network's own: a container has one such route through each of its networks.
func nameRoutes(n heddle.Network, e heddle.Endpoint) []heddle.Route {
	var all []heddle.Route
	for _, server := range e.NameServers {
		if gw, ok := n.GatewayFor(server); ok {
			all = append(all, heddle.Route{Dst: heddle.Single(server), Link: e.Interface(), Via: gw, Metric: n.Group()})
		}
	}
	return all
}

// isNameRoute reports whether a route of the endpoint's is one of them.
func isNameRoute(e heddle.Endpoint, r heddle.Route) bool {
	return r.Dst.IsSingleIP() && slices.Contains(e.NameServers, r.Dst.Addr())
}
