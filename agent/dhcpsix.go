package agent

import (
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/dhcp"
)

// newSix is a machine for an endpoint's IPv6 addresses; nil if the network does not take them from the LAN.
func (d *dhcpLeases) newSix(n *network, e heddle.Endpoint) *dhcp.Machine6 {
	if !n.FromRouters() {
		return nil
	}
	return dhcp.NewMachine6(dhcp.NewIdentity6(n.ID, e.ID, e.MAC), d.refusalSix(n, e))
}

// resumeSix is one that goes on with what an earlier agent recorded.
func (d *dhcpLeases) resumeSix(n *network, e heddle.Endpoint, was heddle.DHCPLease) *dhcp.Machine6 {
	if !n.FromRouters() || was.IPv6 == nil {
		return d.newSix(n, e)
	}
	return dhcp.Resume6(dhcp.NewIdentity6(n.ID, e.ID, e.MAC), d.refusalSix(n, e), *was.IPv6, time.Now())
}

// refusalSix is refusal, and refuses an address whose prefix the host has elsewhere: a router on the LAN that names it would have the
// container's packets to the host's other networks come to the LAN.
func (d *dhcpLeases) refusalSix(n *network, e heddle.Endpoint) func(netip.Prefix) string {
	plain := d.refusal(n, e)
	return func(p netip.Prefix) string {
		if why := plain(p); why != "" {
			return why
		}
		h := d.host.now()
		if parent, _ := h.Link(n.Parent); slices.ContainsFunc(parent.Addrs, func(own netip.Prefix) bool { return own.Contains(p.Addr()) }) {
			return "" // the LAN's, by the host's own word
		}
		for _, l := range h.Links {
			if i := slices.IndexFunc(l.Addrs, p.Overlaps); i >= 0 && l.Name != n.Parent {
				return p.Masked().String() + " overlaps " + l.Addrs[i].Masked().String() + ", which the host has on " + l.Name
			}
		}
		others := d.records.filter(func(r record, _ string) bool {
			return r.Endpoint.Network != n.ID && slices.ContainsFunc(r.Endpoint.Addrs, p.Overlaps)
		})
		if len(others) > 0 {
			return p.Masked().String() + " overlaps network " + others[0].Endpoint.NetworkName + " of this host"
		}
		return ""
	}
}
