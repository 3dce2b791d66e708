package firewall

import (
	"slices"

	"github.com/heddle-network/heddle"
)

// Surroundings are the elements of a network's plan that depend on the rest of the host, and change
// while the network exists: the host's outside interfaces (Outlets) and its own sockets
// (Listening). They belong to networks with our forwarding.
func Surroundings(h heddle.HostFacts) []heddle.Element {
	return slices.Concat(Outlets(h), Listening(h))
}

// Surrounds reports whether an element of a network's plan is one of its Surroundings.
func Surrounds(e heddle.Element) bool { return e.Set == SetOutlets || e.Set == SetTaken }
