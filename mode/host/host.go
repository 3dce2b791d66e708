// Package host is the mode in which a container uses the host's own network stack. It makes
// nothing. Other modes are compared with it.
package host

import (
	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/mode/parts"
)

// Mode is the host mode.
type Mode struct{}

func (Mode) Name() string { return "host" }

// About describes the mode.
func (Mode) About() heddle.About {
	return heddle.About{Summary: "the host's own stack; no subnet, nothing is made"}
}

// NeedsNamespace is false: the container stays in the host's namespace.
func (Mode) NeedsNamespace() bool { return false }

// Check refuses everything that needs a network stack of the container's own.
func (Mode) Check(_ heddle.HostFacts, n heddle.Network) error {
	switch {
	case len(n.Subnets) > 0:
		return heddle.Errorf(heddle.BadSubnet, "create network", n.Name, "a host network has the host's addresses", "leave --subnet out")
	case n.Parent != "" || n.MTU != 0 || n.Internal:
		return heddle.Errorf(heddle.BadOption, "create network", n.Name, "a host network is the host's own stack", "leave --parent, --mtu and --internal out")
	}
	return parts.CheckOptions(n, nil)
}

// Limits says that there is no isolation.
func (Mode) Limits(heddle.Network) []string {
	return []string{"no isolation: the container sees the host's interfaces and traffic, takes the host's ports, and reaches what listens on the host's loopback"}
}

// Network plans nothing.
func (Mode) Network(heddle.HostFacts, heddle.Network) (heddle.Plan, error) {
	return heddle.Plan{}, nil
}

// Endpoint plans nothing.
func (Mode) Endpoint(heddle.HostFacts, heddle.Network, heddle.Endpoint) (heddle.Plan, error) {
	return heddle.Plan{}, nil
}
