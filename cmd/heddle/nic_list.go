package main

import (
	"io"
	"net/netip"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic/ports"
)

// machineNIC is the port behind a NIC of a machine.
type machineNIC struct {
	Machine string `json:"machine"`
	// MovesTo is the machine that may take the NIC over, Taken says that it has it, and has not confirmed.
	MovesTo   string            `json:"movesTo,omitempty"`
	Taken     bool              `json:"taken,omitempty"`
	Network   string            `json:"network"`
	MAC       heddle.MAC        `json:"mac"`
	Addresses []netip.Prefix    `json:"addresses"`
	MTU       int               `json:"mtu"`
	Port      string            `json:"port"`
	Endpoint  heddle.EndpointID `json:"endpoint"`
	// Limits are what the NIC may receive and send, LimitsAsked what the machine asked for.
	Limits      heddle.RateLimits `json:"limits,omitzero"`
	LimitsAsked heddle.RateLimits `json:"limitsAsked,omitzero"`
}

func newNICList(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Args: withArgs(),
		Short:   "List the NICs of this hypervisor's machines",
		Example: "  heddle nic list\n  heddle nic list -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := ports.New(s.client()).List(cmd.Context())
			if err != nil {
				return err
			}
			all := []machineNIC{}
			for _, p := range found {
				all = append(all, machineNIC{p.Machine, p.MovesTo(time.Now()), p.Move.Taken, p.Card.Network, p.Card.MAC, slices.Concat(p.Card.Addrs, slices.Concat(p.Card.Further...)), p.Card.MTU, p.TAP, p.ID, p.Card.Limits, p.Card.Asked})
			}
			return s.emit("MachineNICList", listOf(all), func(w io.Writer) error { return s.nicTable(w, all) })
		},
	}
}

func (s *session) nicTable(w io.Writer, all []machineNIC) error {
	if len(all) == 0 {
		s.note("no machine has a NIC from here")
		return nil
	}
	head := []string{"machine", "network", "mac", "addresses", "port", "endpoint"}
	limited := slices.ContainsFunc(all, func(n machineNIC) bool { return !n.Limits.IsZero() })
	if limited {
		head = append(head, "limits")
	}
	var rows [][]string
	for _, n := range all {
		machine := s.brief(n.Machine)
		if n.MovesTo != "" {
			machine += " (to " + s.brief(n.MovesTo) + ")"
		}
		row := []string{machine, s.brief(n.Network), string(n.MAC), joinList(n.Addresses), n.Port, s.briefID(n.Endpoint)}
		if limited {
			row = append(row, n.Limits.String())
		}
		rows = append(rows, row)
	}
	return writeTable(w, s.width(), head, rows)
}
