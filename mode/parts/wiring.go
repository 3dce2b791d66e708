package parts

import "github.com/heddle-network/heddle"

// Wiring is how a container's link hangs on its host. A mode picks one, apart from what its
// network is. It is pure.
type Wiring interface {
	// Wire plans both ends of an endpoint's link, its guard and published ports, and what
	// the container has inside.
	Wire(heddle.HostFacts, heddle.Network, heddle.Endpoint) (heddle.Plan, error)
}
