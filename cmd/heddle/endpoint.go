package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
)

func newEndpoint(s *session) *cobra.Command {
	return newGroup(&cobra.Command{Use: "endpoint", Short: "Endpoints: interfaces of containers on networks", GroupID: groupNetworks},
		newEndpointList(s), newEndpointShow(s), newEndpointLabel(s), newEndpointSet(s), newEndpointMove(s))
}

func newEndpointShow(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "show ID[/IF]", Args: withArgs("ID"), ValidArgsFunction: s.completeFrom(s.endpointIDs),
		Short:   "Show an endpoint",
		Example: "  heddle endpoint show web\n  heddle endpoint show web/eth1 -o json",
		RunE: func(cmd *cobra.Command, args []string) error {
			var e heddle.Endpoint
			err := s.onEndpoint(cmd.Context(), args[0], toShow, func(id heddle.EndpointID) (err error) {
				e, err = s.client().Endpoint(cmd.Context(), id)
				return err
			})
			if err != nil {
				return err
			}
			return s.emit("Endpoint", e, func(w io.Writer) error { return s.endpointFields(w, e) })
		},
	}
}

func (s *session) endpointFields(w io.Writer, e heddle.Endpoint) error {
	route, nic := "", ""
	if e.MAC != "" {
		route = "not through this endpoint"
	}
	switch {
	case e.Parent != nil:
		nic = e.Parent.Name + " of the host, plugged in by the hypervisor for several endpoints"
	case e.NIC == nil:
	case e.ProgramDrives():
		nic = fmt.Sprintf("plugged in by the hypervisor; device %s, driver %s, for programs %s", e.NIC.Device.Address, e.NIC.Device.Driver, e.NIC.Device.Node())
	case e.MovesTo != "":
		nic = "plugged in by the hypervisor; machine " + e.MovesTo + " may take it over"
	case e.NIC.Plugged != nil:
		nic = "plugged in by the hypervisor"
	default:
		nic = e.NIC.Name + " of the host"
	}
	if e.DefaultRoute {
		route = "through this endpoint"
	}
	return fieldTable(w, s.width(), [2]string{"id", e.ID.String()}, [2]string{"network", e.NetworkName}, [2]string{"name", e.Name}, [2]string{"aliases", strings.Join(e.Aliases, ", ")},
		[2]string{"namespace", e.Netns}, [2]string{"addresses", joinList(e.AllAddrs())}, [2]string{"DHCP lease", formatLease(e.DHCP)}, [2]string{"IPv6 of the LAN", formatLANIPv6(e.DHCP)}, [2]string{"MAC", string(e.MAC)},
		[2]string{"MTU", formatBytes(e.MTU)}, [2]string{"limits", e.Limits.String()}, [2]string{"ports", formatPorts(e)}, [2]string{"host's end", e.Port}, [2]string{"NIC", nic}, [2]string{"queues", formatQueues(e.Queues)},
		[2]string{"default route", route}, [2]string{"fast path", formatFastPath(e.Fast)}, [2]string{"labels", heddle.LabelText(e.Labels)}, [2]string{"created", formatTime(e.Created)})
}

// formatQueues tells of the queues of a NIC, and where their work is done.
func formatQueues(all []heddle.Queue) string {
	var out []string
	for _, q := range all {
		s := q.Name
		if q.CPUs != "" {
			s += " on CPU " + q.CPUs
		}
		switch receives := strings.HasPrefix(q.Name, "rx"); {
		case q.Steering != "" && receives:
			s += ", handed on to " + q.Steering
		case q.Steering != "":
			s += " for CPU " + q.Steering
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

// formatLease says how long a lease is, and what the agent does about it.
func formatLease(l *heddle.DHCPLease) string {
	switch {
	case l == nil:
		return ""
	case !l.Held && l.Trouble != "":
		return "none (" + l.State + "): " + l.Trouble
	case !l.Held:
		return "none (" + l.State + ")"
	case l.Trouble != "":
		return "until " + formatTime(l.Expires) + " (" + l.State + "): " + l.Trouble
	}
	return "until " + formatTime(l.Expires) + ", of server " + l.Server.String() + " (" + l.State + ")"
}

// formatLANIPv6 says what a LAN's routers and DHCPv6 servers have given.
func formatLANIPv6(l *heddle.DHCPLease) string {
	if l == nil || l.IPv6 == nil {
		return ""
	}
	six, all := l.IPv6, []string{}
	for _, a := range six.Addresses {
		all = append(all, a.Address.Addr().String()+" ("+a.Source+") until "+formatTime(a.Valid))
	}
	if six.Router.IsValid() {
		all = append(all, "router "+six.Router.String()+" until "+formatTime(six.RouterUntil))
	}
	if len(all) == 0 {
		all = append(all, "none ("+six.State+")")
	}
	if six.Trouble != "" {
		all = append(all, six.Trouble)
	}
	return strings.Join(all, ", ")
}

// formatFastPath describes how many packets the fast path handled, and why it left others
// to the host's stack.
func formatFastPath(c *heddle.FastCounts) string {
	if c == nil {
		return ""
	}
	words := func(names []string, n map[string]uint64) string {
		var out []string
		for _, name := range names {
			if n[name] > 0 {
				out = append(out, fmt.Sprintf("%d %s", n[name], name))
			}
		}
		return strings.Join(out, ", ")
	}
	s := heddle.Count(c.Carried(), "packet") + " carried"
	if c.Carried() > 0 {
		s += " (" + words(heddle.FastPaths, c.Packets) + ")"
	}
	if c.Left() > 0 {
		s += fmt.Sprintf("; %d left to the host's stack (%s)", c.Left(), words(heddle.FastMisses, c.Missed))
	}
	return s
}

func formatPorts(e heddle.Endpoint) string {
	return strings.Join(heddle.FormatPorts(e.Ports), ",")
}
