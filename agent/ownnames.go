package agent

import (
	"hash/fnv"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/names"
)

// nameParts is the number of parts of a network's endpoints. An endpoint stays in its part.
const nameParts = 64

func namePart(id heddle.EndpointID) int {
	h := fnv.New32a()
	h.Write([]byte(id.String()))
	return int(h.Sum32() % nameParts)
}

// ownNames are the endpoints of a network on this host, and where they ask for names. They are brought in line
// endpoint by endpoint: there may be very many. They are not for several goroutines.
type ownNames struct {
	parts [nameParts]map[heddle.EndpointID]ownName
	count int
	// listen has the number of endpoints that ask at an address.
	listen map[netip.Addr]int
}

// ownName is an endpoint with the addresses of its plan, at which it may ask.
type ownName struct {
	names.Endpoint
	listen []netip.Addr
	// made says that others may hear of it: one that is being made may ask already.
	made bool
}

// newOwnName returns what the tables have of a record with the operation on it; nothing while it is
// removed.
func newOwnName(r record, op string) (one ownName, listed bool) {
	e := r.Endpoint
	one = ownName{Endpoint: names.Endpoint{ID: e.ID, Name: e.Name, Aliases: e.Aliases, Ports: names.Ports(e.Ports)}, made: op != intentAttach}
	if e.Handover {
		one.Pod = r.Request.Netns // a path, which no container's ID is
	}
	for _, p := range e.Addrs {
		if !slices.ContainsFunc(one.Addrs, heddle.FamilyOf(p.Addr()).Has) { // a NIC may have several
			one.Addrs = append(one.Addrs, p.Addr())
		}
	}
	if len(one.Addrs) == 0 { // its container asks by another network, and nobody finds it by a name
		one.Name, one.Aliases, one.Ports = "", nil, nil
	}
	for _, a := range r.Plan.Host.Addresses {
		if !slices.Contains(one.listen, a.Prefix.Addr()) {
			one.listen = append(one.listen, a.Prefix.Addr())
		}
	}
	return one, op != intentDetach
}

// put replaces what is known of an endpoint.
func (o *ownNames) put(one ownName) {
	o.drop(one.ID)
	part := &o.parts[namePart(one.ID)]
	if *part == nil {
		*part = map[heddle.EndpointID]ownName{}
	}
	(*part)[one.ID] = one
	o.count++
	for _, a := range one.listen {
		o.listen[a]++
	}
}

func (o *ownNames) drop(id heddle.EndpointID) {
	part := o.parts[namePart(id)]
	was, there := part[id]
	if !there {
		return
	}
	delete(part, id)
	o.count--
	for _, a := range was.listen {
		if o.listen[a]--; o.listen[a] == 0 {
			delete(o.listen, a)
		}
	}
}

// at is the network with the gateways that its endpoints have: those of their NICs, where the host routes by NICs that are plugged in.
func (o *ownNames) at(n *network) heddle.Network {
	all := n.Network
	if p, plugs := heddle.PlugsParents(n.mode, all); !plugs || !p.RoutesOnParents() {
		return all
	}
	for a := range o.listen {
		if slices.ContainsFunc(all.Subnets, func(s netip.Prefix) bool { return s.Contains(a) }) {
			all.Gateways = append(all.Gateways, a)
		}
	}
	slices.SortFunc(all.Gateways, netip.Addr.Compare)
	return all
}

// made lists the endpoints that have names and are made.
func (o *ownNames) made() (all []names.Endpoint) {
	for _, part := range o.parts {
		for _, one := range part {
			if one.made && (one.Name != "" || len(one.Aliases) > 0) {
				all = append(all, one.Endpoint)
			}
		}
	}
	return all
}

// list lists the endpoints of some parts by ID.
func (o *ownNames) list(parts ...int) (all []names.Endpoint) {
	for _, p := range parts {
		for _, one := range o.parts[p] {
			all = append(all, one.Endpoint)
		}
	}
	slices.SortFunc(all, func(a, b names.Endpoint) int { return a.ID.Compare(b.ID) })
	return all
}

// changed are some endpoints of a network, or all.
type changed struct {
	ids map[heddle.EndpointID]bool
	all bool
}

// followRecords brings the endpoints of a network in line with the records.
func (t *nameTables) followRecords(network string, c changed) {
	own := t.own[network]
	if own == nil || c.all {
		own = &ownNames{listen: map[netip.Addr]int{}}
		t.own[network] = own
		t.records.each(func(r record, op string) {
			if r.Endpoint.Network != network {
				return
			}
			if one, listed := newOwnName(r, op); listed {
				own.put(one)
			}
		})
		return
	}
	for id := range c.ids {
		own.drop(id)
		if r, op, known := t.records.withOperation(id); known && r.Endpoint.Network == network {
			if one, listed := newOwnName(r, op); listed {
				own.put(one)
			}
		}
	}
}
