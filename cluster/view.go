package cluster

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// record is all keys of the cluster at a revision.
type record struct {
	revision int64
	items    map[string]item
}

// apply takes in an event.
func (r *record) apply(e store.Event) {
	if e.Snapshot || r.items == nil {
		r.items = map[string]item{}
	}
	for _, k := range e.Deleted {
		delete(r.items, k)
	}
	for _, entry := range e.Entries {
		r.items[entry.Key] = read(entry)
	}
	r.revision = e.Revision
}

// revisionOf is the revision of a key's last change, 0 if it is not there.
func (r *record) revisionOf(key string) int64 { return r.items[key].revision }

// value returns the record below a key, nil if there is none.
func value[T any](r *record, key string) *T {
	v, _ := r.items[key].value.(*T)
	return v
}

func (r *record) removed(id string) bool {
	_, is := r.items[removedKey(id)]
	return is
}

// owner returns whose a block is, "" if it is free: nobody has claimed it, or a
// host that was removed.
func (r *record) owner(b blockID) string {
	v := value[blockRecord](r, blockKey(b.network, b.prefix))
	switch {
	case v == nil || r.removed(v.Host):
		return ""
	case v.Host == "":
		return "unknown"
	default:
		return v.Host
	}
}

// blockAround returns the claimed block that an address lies in.
func (r *record) blockAround(p place) (item, bool) {
	for _, i := range r.items {
		if _, is := i.value.(*blockRecord); is && i.place.network == p.network && i.prefix.Contains(p.addr) {
			return i, true
		}
	}
	return item{}, false
}

// pinsOf lists the pins of an address, the newest last: while it moves, both
// hosts have one.
func (r *record) pinsOf(p place) []item {
	var all []item
	for _, i := range r.items {
		if _, is := i.value.(*pinRecord); is && i.place == p {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, byRevision)
	return all
}

func byRevision(a, b item) int { return cmp.Compare(a.revision, b.revision) }

// hostName returns the name of a host by its ID.
func (r *record) hostName(id string) string {
	for _, i := range r.items {
		if h, is := i.value.(*hostRecord); is && h.ID == id {
			return h.Name
		}
	}
	return id
}

// network returns a network's record by its ID.
func (r *record) network(id string) (item, *heddle.Network) {
	for _, i := range r.items {
		if n, is := i.value.(*heddle.Network); is && n.ID == id {
			return i, n
		}
	}
	return item{}, nil
}

// view computes what the cluster looks like to the host: of its own blocks and
// pins only those that are on its disk, too.
func (r *record) view(m memory) *View {
	v := &View{Revision: r.revision, Alive: map[string]bool{}}
	v.Self, v.Removed = m.Host, m.Removed || r.isRemoved(m)
	if c := value[clusterRecord](r, clusterKey); c != nil {
		v.Cluster, v.VNI, v.Port = c.ID, c.VNI, c.Port
	}
	newest, networks := map[place]item{}, map[string]*heddle.Network{}
	for _, i := range r.items {
		if n, is := i.value.(*heddle.Network); is {
			networks[n.ID] = n
		}
	}
	for _, i := range r.items {
		if i.place.network == "" || admits(networks[i.place.network], i) {
			r.show(v, m, i, newest)
		}
	}
	v.Peers, v.LeftOut = r.peers(m.Host)
	for p, i := range newest {
		host := i.value.(*pinRecord).Host
		if _, mine := m.Pins[p]; mine || host != m.Host.ID {
			v.Pins = append(v.Pins, heddle.Pin{Network: p.network, Addr: p.addr, Host: host})
		}
	}
	v.Lent = lentOut(m, v.Pins)
	v.Moves = slices.DeleteFunc(v.Moves, func(mv Move) bool {
		_, out := m.Lent[place{mv.Network, mv.Addr}] // it has not come home yet
		return out
	})
	v.sort()
	return v
}

// admits reports whether what a key is about lies in the network: whoever may
// write it could name any address otherwise.
func admits(n *heddle.Network, i item) bool {
	if n == nil {
		return false
	}
	for _, s := range n.Subnets {
		if i.prefix.IsValid() && s.Contains(i.prefix.Addr()) {
			return heddle.BlockOf(s, i.prefix.Addr()) == i.prefix
		}
		if i.place.addr.IsValid() && s.Contains(i.place.addr) {
			return true
		}
	}
	return false
}

func (r *record) show(v *View, m memory, i item, newest map[place]item) {
	switch x := i.value.(type) {
	case *aliveRecord:
		v.Alive[i.host] = true
	case *heddle.Network:
		v.Networks = append(v.Networks, *x)
	case *blockRecord:
		_, mine := m.Held[blockID{i.place.network, i.prefix}]
		if !r.removed(x.Host) && (mine || x.Host != m.Host.ID) {
			v.Blocks = append(v.Blocks, heddle.Block{Network: i.place.network, Prefix: i.prefix, Host: x.Host})
		}
	case *pinRecord:
		self := value[hostRecord](r, selfKey(i.host))
		if self != nil && self.ID == x.Host && i.revision > newest[i.place].revision {
			newest[i.place] = i
		}
	case *answerRecord:
		if x.Move != nil && x.Host == m.Host.ID && i.revision > m.Used[i.place] {
			v.Moves = append(v.Moves, *x.Move)
		}
	}
}

// isRemoved says whether an operator took the host out of the cluster.
func (r *record) isRemoved(m memory) bool {
	self := value[hostRecord](r, selfKey(m.Host.Name))
	return r.removed(m.Host.ID) || m.Introduced && (self == nil || self.ID != m.Host.ID)
}

// remembered is the view of a host that has not reached the store yet.
func remembered(m memory) *View {
	v := &View{Fabric: m.Last, Alive: map[string]bool{}, Removed: m.Removed}
	v.Self = m.Host
	v.Blocks = slices.DeleteFunc(slices.Clone(v.Blocks), func(b heddle.Block) bool { return b.Host == m.Host.ID })
	for b := range m.Held {
		v.Blocks = append(v.Blocks, heddle.Block{Network: b.network, Prefix: b.prefix, Host: m.Host.ID})
	}
	v.Pins = slices.DeleteFunc(slices.Clone(v.Pins), func(p heddle.Pin) bool { return p.Host == m.Host.ID })
	for p := range m.Pins {
		v.Pins = append(v.Pins, heddle.Pin{Network: p.network, Addr: p.addr, Host: m.Host.ID})
	}
	v.Lent = lentOut(m, v.Pins)
	v.sort()
	return v
}

// lentOut lists the addresses of held blocks that another host has or may have.
func lentOut(m memory, all []heddle.Pin) []heddle.Pin {
	out := map[place]string{}
	for p, host := range m.Lent {
		out[p] = host
	}
	for _, p := range all {
		at := place{p.Network, p.Addr}
		if _, mine := m.holder(at); mine && p.Host != m.Host.ID {
			out[at] = p.Host
		}
	}
	var list []heddle.Pin
	for p, host := range out {
		list = append(list, heddle.Pin{Network: p.network, Addr: p.addr, Host: host})
	}
	slices.SortFunc(list, byPlace)
	return list
}

func byPlace(a, b heddle.Pin) int {
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
	slices.SortFunc(v.Pins, byPlace)
	slices.SortFunc(v.Moves, func(a, b Move) int {
		return cmp.Or(strings.Compare(a.Network, b.Network), a.Addr.Compare(b.Addr), strings.Compare(a.From, b.From))
	})
}
