package agent

import (
	"context"
	"fmt"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/commands"
)

// Explain returns an endpoint as the commands that would make it, with its differences from the
// kernel.
func (a *Agent) Explain(id heddle.EndpointID) (heddle.Explained, error) {
	r, known := a.records.get(id)
	if !known {
		return heddle.Explained{}, noEndpoint(id)
	}
	drift, err := a.checkRecord(r, a.compareHost)
	if err != nil {
		return heddle.Explained{}, fmt.Errorf("explain %s: %w", id, err)
	}
	return heddle.Explained{Endpoint: r.Endpoint, Commands: commands.Of(r.Plan, r.Endpoint.Netns), Drift: drift}, nil
}

// ExplainNetwork returns a network as the commands that would make what its endpoints share on this
// host, with its differences from the kernel.
func (a *Agent) ExplainNetwork(name string) (heddle.ExplainedNetwork, error) {
	n, err := a.findNew(context.Background(), name)
	if err != nil {
		return heddle.ExplainedNetwork{}, err
	}
	x := heddle.ExplainedNetwork{Network: withLimits(n.mode, n.Network), Commands: networkCommands(n)}
	drift, err := a.kernel.Diff(n.plan, nil)
	x.Drift = findings("network "+n.Name, remedyRepair, drift)
	return x, err
}

// networkCommands returns the commands that make what the network's endpoints share. If there is
// nothing, a comment says what an attach does.
func networkCommands(n *network) []string {
	lines := commands.Of(n.plan, "")
	giver, gives := n.mode.(heddle.NICGiver)
	switch {
	case gives && giver.DriverOf(n.Network) != "":
		lines = append(lines, "# nothing is made yet: each attach has a NIC plugged in on network "+giver.PlugsOn(n.Network)+" of the hypervisor,",
			"# and binds its device to "+giver.DriverOf(n.Network)+", for a program of the container; a detach has it taken out again")
	case gives && giver.PlugsOn(n.Network) != "":
		lines = append(lines, "# nothing is made yet: each attach has a NIC plugged in on network "+giver.PlugsOn(n.Network)+" of the hypervisor,",
			"# and moves it into its container; a detach has it taken out again")
	case gives:
		lines = append(lines, "# nothing is made yet: each attach moves a NIC of the host into its container, the first free one of")
		for _, member := range giver.Pool(n.Network) {
			lines = append(lines, "#   "+member)
		}
		lines = append(lines, "# from then on the host does not have it; a detach brings it back as it was",
			"# 'heddle attach "+n.Name+" --netns NAME --dry-run' shows the move")
	case len(lines) == 0:
		lines = append(lines, "# nothing is made in this mode: containers use the host's own stack")
	}
	return lines
}
