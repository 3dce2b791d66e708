package firewall

import (
	"slices"

	"github.com/heddle-network/heddle"
)

// Surroundings are what the plan of a network with our forwarding says of the rest of the
// host, which changes while the network is there: its ways to the outside (Outlets) and
// its own sockets (Listening).
func Surroundings(h heddle.HostFacts) []heddle.Element {
	return slices.Concat(Outlets(h), Listening(h))
}

// Surrounds reports whether an element of a network's plan is one of its Surroundings.
func Surrounds(e heddle.Element) bool { return e.Set == SetOutlets || e.Set == SetTaken }
