package ping

import (
	"fmt"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/path"
)

// holder is the other host to which an address of a shared network belongs: it is pinned there, or lies in a block of that host.
func (f Facts) holder() (peer heddle.Host, found bool) {
	fabric := f.Host.Fabric
	if fabric == nil {
		return peer, false
	}
	id, bits := "", -1
	for _, n := range f.Networks {
		if !n.Shared || n.ID != f.From.Network.ID && !Joined(f.From.Network, n) {
			continue
		}
		for _, b := range fabric.Blocks {
			if b.Network == n.ID && b.Prefix.Contains(f.To) && b.Prefix.Bits() > bits {
				id, bits = b.Host, b.Prefix.Bits()
			}
		}
		for _, pin := range fabric.Pins {
			if pin.Network == n.ID && pin.Addr == f.To {
				id, bits = pin.Host, f.To.BitLen()
			}
		}
	}
	i := slices.IndexFunc(fabric.Peers, func(h heddle.Host) bool { return h.ID == id })
	if i < 0 {
		return peer, false
	}
	return fabric.Peers[i], true
}

// toPeer is the way to an address of another host.
func (f Facts) toPeer(p *Path, h heddle.Host) {
	fabric := f.Host.Fabric
	p.Where, p.By, p.Host, p.State = OtherHost, Tunnel, h.Name, Unknown
	over, reached := heddle.Path(fabric.Self, h)
	if !reached {
		p.By, p.MTU, p.State = Unknown, 0, "none"
		p.Text = "to " + h.Name + ", with which this host has no IP version in common"
		return
	}
	if i := slices.IndexFunc(f.Peers, func(s heddle.PeerStatus) bool { return s.ID == h.ID }); i >= 0 {
		p.State = f.Peers[i].State
	}
	if room := path.MTU(fabric, h, over, heddle.FamilyOf(f.To)); p.MTU == 0 || room < p.MTU {
		p.MTU = room
	}
	way := path.Of(fabric)
	by := "the kernel's device " + way.Device(fabric, over)
	if _, fast := f.shortcut(f.From.Plan); fast && !f.fragmented(p.MTU) {
		by = "the fast path"
	}
	p.Text = fmt.Sprintf("to %s by %s over %s (%s), the path is %s", h.Name, way.Title(), over, by, p.State)
}
