package ping

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
)

// toNobody is the way to an address of a network of this host that no record has.
func (f Facts) toNobody(p *Path, n heddle.Network) {
	p.Where, p.By, p.Text = Nowhere, Unknown, "by the records nobody has this address of network "+n.Name
	switch {
	case f.From.OnLAN && n.ID == f.From.Network.ID:
		p.Where, p.By, p.Text = LAN, NIC, "by "+f.nic()+"; who has the address there is unknown"
	case f.From.CommonSubnet && n.ID == f.From.Network.ID:
		p.Where, p.By, p.Text = Unknown, Stack, "by the host's routes; no endpoint of network "+n.Name+" has the address, and others may have it"
	}
}

// nic is the NIC by which containers of a LAN send.
func (f Facts) nic() string {
	if f.From.Endpoint.NIC != nil {
		return "the container's NIC to its LAN"
	}
	return "NIC " + cmp.Or(f.From.Network.Parent, "of the host") + " to its LAN"
}

// toOutside is the way to an address that no network of the sender has.
func (f Facts) toOutside(p *Path) {
	n := f.From.Network
	p.Where, p.By, p.Masqueraded = Outside, Stack, f.From.Masqueraded
	p.Gateway, _ = n.GatewayFor(f.To)
	if i := slices.IndexFunc(f.Networks, func(o heddle.Network) bool {
		return o.Mode == heddle.ModePeering && within(o, f.To)
	}); i >= 0 {
		peering := f.Networks[i]
		p.Where, p.Masqueraded, p.Text = OtherVPC, "", "to another VPC by peering "+peering.Name
		if !Joined(n, peering) {
			p.Text += ", which is not joined with network " + n.Name
		}
		return
	}
	switch {
	case n.Internal:
		p.Where, p.By, p.Masqueraded, p.Gateway, p.MTU = Nowhere, Unknown, "", netip.Addr{}, 0
		p.Text = "network " + n.Name + " is internal, and has no way out"
		return
	case f.From.OnLAN:
		p.By, p.Text = NIC, "to the outside by "+f.nic()
	case !p.Gateway.IsValid():
		p.By, p.Text = Unknown, "to the outside, by a gateway that the agent does not know"
	default:
		p.Text = "to the outside"
	}
	if p.Gateway.IsValid() {
		p.Text += " through gateway " + p.Gateway.String()
	}
	if f.VPC {
		f.byRoute(p)
		return
	}
	switch p.Masqueraded {
	case "yes":
		p.Text += ", masqueraded"
	case "no":
		p.Text += ", not masqueraded"
	default:
		p.Text += ", whether masqueraded is unknown"
	}
	if up, known := f.uplink(); known && p.By == Stack && (p.MTU == 0 || up.MTU < p.MTU) {
		p.MTU = up.MTU
	}
}

// uplink is the host's only link with a default route of the address's family; false if there are several, or none.
func (f Facts) uplink() (l heddle.LinkFact, known bool) {
	of := heddle.FamilyOf(f.To)
	for _, one := range f.Host.Links {
		if slices.ContainsFunc(one.Gateways, of.Has) && one.MTU > 0 {
			if known {
				return l, false
			}
			l, known = one, true
		}
	}
	return l, known
}

// byRoute is the way out of a VPC: the longest prefix of its routes.
func (f Facts) byRoute(p *Path) {
	var best netip.Prefix
	for d := range f.Routes {
		if d.Contains(f.To) && (!best.IsValid() || d.Bits() > best.Bits()) {
			best = d
		}
	}
	if !best.IsValid() {
		p.Where, p.Masqueraded, p.MTU = Nowhere, "", 0
		p.Text = "the VPC has no route there"
		return
	}
	p.Masqueraded = Unknown
	p.Text = strings.TrimSpace(p.Text) + ", by the VPC's route to " + best.String() + ", which leads to " + f.Routes[best]
}
