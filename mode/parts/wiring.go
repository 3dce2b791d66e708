package parts

import "github.com/heddle-network/heddle"

// Wiring is how a container's link is connected to its host. A mode chooses one. A wiring has no
// side effects.
type Wiring interface {
	// Wire plans both ends of an endpoint's link, its guard and published ports, and the objects in
	// the container.
	Wire(heddle.HostFacts, heddle.Network, heddle.Endpoint) (heddle.Plan, error)
}
