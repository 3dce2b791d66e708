package lab

import (
	"slices"

	"github.com/heddle-network/heddle"
)

// addVPCs adds the agents of the hosts' VPCs as daemons. Each is ready when it answers.
func (t Topology) addVPCs() error {
	for i := range t.Hosts {
		n := &t.Hosts[i]
		for j, name := range n.VPCs {
			op := "make VPC on " + n.Name
			switch err := heddle.CheckVPCName(name); {
			case err != nil:
				return err
			case slices.Contains(n.VPCs[:j], name):
				return refuse(op, name, "the host has it already", "name each VPC once")
			case n.Agent.Off:
				return refuse(op, name, "the host has no agent", "leave the VPC out, or have the host's agent started")
			}
			n.Daemons = append(n.Daemons, Daemon{Name: agentProgram + "-vpc-" + name, Command: append(slices.Clone(n.Agent.Command), "--vpc", name), Environment: n.Agent.Environment,
				AfterAgent: true, Ready: Ready{Unix: heddle.VPCSocket(name), Within: agentTime}})
		}
	}
	return nil
}
