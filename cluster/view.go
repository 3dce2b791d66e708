package cluster

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
)

// view computes the host's view of the cluster. Of its own blocks and pins it contains only those
// that are also on its disk.
func (r *record) view(m memory, before []heddle.Host) *View {
	v := &View{Revision: r.revision, Alive: map[string]bool{}}
	v.Self, v.Removed = m.Host, m.Removed || r.isRemoved(m)
	if c := value[clusterRecord](r, clusterKey); c != nil {
		v.Cluster, v.VNI, v.Port, v.Path = c.ID, c.VNI, c.Port, c.Path
	}
	v.Ranges = r.ranges()
	v.Refused, v.RefusedCount = r.refusals()
	v.RefusedNetworks = r.refusedNetworks()
	newest := map[netAddr]item{}
	for _, i := range r.items {
		if _, known := r.networks[i.addr.network]; known || i.addr.network == "" {
			r.addToView(v, m, i, newest)
		}
	}
	v.Peers, v.LeftOut = r.peers(m.Host, before)
	for p, i := range newest {
		host := i.value.(*pinRecord).Host
		if _, mine := m.Pins[p]; mine || host != m.Host.ID {
			v.Pins = append(v.Pins, heddle.Pin{Network: p.network, Addr: p.ip, Host: host})
		}
	}
	v.Lent = lentOut(m, v.Pins)
	v.Moves = slices.DeleteFunc(v.Moves, func(mv Move) bool {
		_, out := m.Lent[netAddr{mv.Network, mv.Addr}] // the address has not come home yet
		return out
	})
	v.sort()
	return v
}

func (r *record) addToView(v *View, m memory, i item, newest map[netAddr]item) {
	switch x := i.value.(type) {
	case *aliveRecord:
		v.Alive[i.host] = true
	case *heddle.Network:
		v.Networks = append(v.Networks, *x)
	case *blockRecord:
		_, mine := m.Held[blockID{i.addr.network, i.prefix}]
		if !r.removed(x.Host) && (mine || x.Host != m.Host.ID) {
			v.Blocks = append(v.Blocks, heddle.Block{Network: i.addr.network, Prefix: i.prefix, Host: x.Host})
		}
	case *pinRecord:
		self := value[hostRecord](r, selfKey(i.host))
		if self != nil && self.ID == x.Host && i.revision > newest[i.addr].revision {
			newest[i.addr] = i
		}
	case *answerRecord:
		if x.Move != nil && x.Host == m.Host.ID && i.revision > m.Used[i.addr] {
			v.Moves = append(v.Moves, *x.Move)
		}
	}
}

// isRemoved says whether an operator removed the host from the cluster. A missing record
// of the host is not enough: a removal is recorded in the change that deletes the host's
// record, and a store that went back to a time before the host joined has neither.
func (r *record) isRemoved(m memory) bool {
	self := value[hostRecord](r, selfKey(m.Host.Name))
	return r.removed(m.Host.ID) || m.Introduced && self != nil && self.ID != m.Host.ID
}

// viewFromMemory is the view of a host that has not reached the store yet.
func viewFromMemory(m memory) *View {
	v := &View{Fabric: m.Last, Alive: map[string]bool{}, Removed: m.Removed}
	v.Self = m.Host
	v.Blocks = slices.DeleteFunc(slices.Clone(v.Blocks), func(b heddle.Block) bool { return b.Host == m.Host.ID })
	for b := range m.Held {
		v.Blocks = append(v.Blocks, heddle.Block{Network: b.network, Prefix: b.prefix, Host: m.Host.ID})
	}
	v.Pins = slices.DeleteFunc(slices.Clone(v.Pins), func(p heddle.Pin) bool { return p.Host == m.Host.ID })
	for p := range m.Pins {
		v.Pins = append(v.Pins, heddle.Pin{Network: p.network, Addr: p.ip, Host: m.Host.ID})
	}
	v.Lent = lentOut(m, v.Pins)
	v.sort()
	return v
}

// lentOut lists the addresses of held blocks that another host has or may have.
func lentOut(m memory, all []heddle.Pin) []heddle.Pin {
	out := map[netAddr]string{}
	for p, host := range m.Lent {
		out[p] = host
	}
	for _, p := range all {
		at := netAddr{p.Network, p.Addr}
		if _, mine := m.heldBlock(at); mine && p.Host != m.Host.ID {
			out[at] = p.Host
		}
	}
	var list []heddle.Pin
	for p, host := range out {
		list = append(list, heddle.Pin{Network: p.network, Addr: p.ip, Host: host})
	}
	slices.SortFunc(list, byAddress)
	return list
}

func byAddress(a, b heddle.Pin) int {
	return cmp.Or(strings.Compare(a.Network, b.Network), a.Addr.Compare(b.Addr), strings.Compare(a.Host, b.Host))
}

func byPrefix(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}

func (v *View) sort() {
	for _, hosts := range [][]heddle.Host{v.Peers, v.LeftOut} {
		slices.SortFunc(hosts, func(a, b heddle.Host) int { return strings.Compare(a.Name, b.Name) })
	}
	slices.SortFunc(v.Networks, func(a, b heddle.Network) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(v.Blocks, func(a, b heddle.Block) int {
		return cmp.Or(strings.Compare(a.Network, b.Network), byPrefix(a.Prefix, b.Prefix))
	})
	slices.SortFunc(v.Pins, byAddress)
	slices.SortFunc(v.Moves, func(a, b Move) int {
		return cmp.Or(strings.Compare(a.Network, b.Network), a.Addr.Compare(b.Addr), strings.Compare(a.From, b.From))
	})
}
