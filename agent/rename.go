package agent

import "github.com/heddle-network/heddle"

// RenameNetwork gives a network another name, on all hosts that have it.
func (a *Agent) RenameNetwork(id, name string) (heddle.Network, error) {
	return heddle.Network{}, noNetwork(id)
}

// NetworkByID returns the network with the ID.
func (a *Agent) NetworkByID(id string) (heddle.Network, error) {
	n := a.networkByID(id)
	if n == nil {
		return heddle.Network{}, noNetwork(id)
	}
	return withLimits(n.mode, n.Network), nil
}
