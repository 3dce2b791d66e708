package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
)

// Refusal is a record that this host does not accept.
type Refusal struct {
	// Key is the record's key. Writer is the host below whose name the key is, "" if
	// several hosts may write it.
	Key    string `json:"key"`
	Writer string `json:"writer,omitempty"`
	Reason string `json:"reason"`
}

func (f Refusal) String() string { return fmt.Sprintf("%q: %s", heddle.Clip(f.Key), f.Reason) }

// MostNetworks is how many networks a cluster may have; the store's access control cannot
// count them. Each network is compared with all older ones.
const MostNetworks = 1024

// decides says whether an item matters for the acceptance of other items.
func (i item) decides() bool {
	switch i.said.(type) {
	case *clusterRecord, *heddle.Network, *hostRecord, *removedRecord:
		return true
	}
	return false
}

// weigh decides which of the new records are accepted. If records have changed by which
// others are judged, it decides about all.
func (r *record) weigh() {
	if r.all {
		r.weighAll()
	} else {
		for _, key := range r.came {
			r.weighRest(r.items[key])
		}
	}
	r.all, r.came = false, nil
}

// weighAll decides about all records: first the networks, oldest first, then the hosts,
// then the records that are about networks or hosts.
func (r *record) weighAll() {
	var networks, hosts []item
	for key, i := range r.items {
		switch i.said.(type) {
		case *heddle.Network:
			networks = append(networks, i)
		case *hostRecord:
			hosts = append(hosts, i)
		case *blockRecord, *pinRecord, *wantRecord, *answerRecord, *aliveRecord, *removedRecord:
		default:
			continue
		}
		i.value, i.refused = nil, ""
		r.items[key] = i
	}
	slices.SortFunc(networks, byCreation)
	slices.SortFunc(hosts, r.byStanding())
	if r.networks != nil {
		r.had = map[string]bool{}
	}
	for id := range r.networks {
		r.had[id] = true
	}
	if r.names == nil || len(r.names) > 4*MostNetworks {
		r.names = map[string]string{}
	}
	r.networks, r.hosts = map[string]item{}, map[string]string{}
	for n, i := range networks {
		if n >= MostNetworks {
			i.refused = fmt.Sprintf("there are %d older networks; a cluster has no more", MostNetworks)
			r.items[i.key] = i
			continue
		}
		r.choose(i, func(i item, said any) string { return r.judgeNetwork(i, said, hosts) })
	}
	for _, i := range hosts {
		r.choose(i, r.judgeHost)
	}
	for _, i := range r.items {
		r.weighRest(i)
	}
}

// weighRest decides about a record that is about a network or a host.
func (r *record) weighRest(i item) {
	switch i.said.(type) {
	case *blockRecord, *pinRecord, *wantRecord, *answerRecord, *aliveRecord, *removedRecord:
		r.choose(i, r.judgeRest)
	}
}

// choose accepts what a record says. If it cannot, it keeps what the key said before, if
// that can still be accepted.
func (r *record) choose(i item, judge func(i item, said any) string) {
	i.value, i.refused = i.said, i.unread
	if i.refused == "" {
		i.refused = judge(i, i.said)
	}
	if i.refused != "" {
		i.value = nil
		if i.before != nil && judge(i, i.before) == "" {
			i.value = i.before
		} else if _, is := i.said.(*blockRecord); is && i.refused != noBlock {
			i.value = &blockRecord{} // the block is still taken
		}
	}
	switch v := i.value.(type) {
	case *heddle.Network:
		r.networks[v.ID], r.names[v.ID] = i, v.Name
	case *hostRecord:
		r.hosts[v.ID] = v.Name
	}
	r.items[i.key] = i
}

// weighCluster decides about the cluster's own record.
func (r *record) weighCluster(i *item) {
	c := i.said.(*clusterRecord)
	if i.refused = i.unread; i.refused == "" {
		i.refused = judgeCluster(c)
	}
	if i.value = i.said; i.refused != "" {
		i.value = i.before
	}
}

// ranges are what networks may use.
func (r *record) ranges() []netip.Prefix {
	if c := value[clusterRecord](r, clusterKey); c != nil && len(c.Ranges) > 0 {
		return c.Ranges
	}
	return DefaultRanges
}

// judgeNetwork compares a network with the older ones and with the hosts' records.
func (r *record) judgeNetwork(i item, said any, hosts []item) string {
	n := said.(*heddle.Network)
	if why := judgeNetwork(strings.TrimPrefix(i.key, networksKey), n, r.fits); why != "" {
		return why
	}
	if old, is := i.before.(*heddle.Network); is && (old.ID != n.ID || !SamePlace(*old, *n)) {
		return "it had another id or other addresses before; those of a network do not change"
	}
	if s, out := outside(r.ranges(), *n); out {
		return fmt.Sprintf("its subnet %s lies in none of the cluster's ranges (%s)", s, listed(r.ranges()))
	}
	for _, older := range r.networks {
		o := older.value.(*heddle.Network)
		switch {
		case o.ID == n.ID:
			return "network " + o.Name + " has its id, and is older"
		case o.Group() == n.Group():
			return "network " + o.Name + " has its number, and is older"
		}
		for _, s := range n.Subnets {
			if slices.ContainsFunc(o.Subnets, s.Overlaps) {
				return "network " + o.Name + " has addresses of " + s.String() + ", and is older"
			}
		}
	}
	return r.covers(i, n, hosts)
}

// covers finds a host whose underlay address is in the network, if the network is the
// newer of the two. A network that was accepted before stays.
func (r *record) covers(i item, n *heddle.Network, hosts []item) string {
	if r.had[n.ID] {
		return ""
	}
	for _, other := range hosts {
		h := other.said.(*hostRecord)
		if other.unread != "" || other.created > i.created || r.removed(h.ID) || judgeHost(other.host, h) != "" {
			continue
		}
		for _, u := range h.Underlay {
			if slices.ContainsFunc(n.Subnets, func(s netip.Prefix) bool { return s.Contains(u) }) {
				return "host " + h.Name + " has its underlay address in it, " + u.String()
			}
		}
	}
	return ""
}

// SamePlace reports whether two records of a network have the same addresses.
func SamePlace(a, b heddle.Network) bool {
	return a.Mode == b.Mode && slices.Equal(a.Subnets, b.Subnets) && slices.Equal(a.Gateways, b.Gateways) && slices.Equal(a.Ranges, b.Ranges)
}

// byStanding orders hosts: first the one that reads, then those that it knew and that are
// unchanged, then the others, oldest first.
func (r *record) byStanding() func(a, b item) int {
	ids := map[string]string{}
	for _, k := range r.known {
		ids[k.Name] = k.ID
	}
	standing := func(i item) int {
		h := i.said.(*hostRecord)
		switch {
		case i.host == r.self:
			return 0
		case h.ID != "" && ids[i.host] == h.ID:
			return 1
		}
		return 2
	}
	return func(a, b item) int { return cmp.Or(cmp.Compare(standing(a), standing(b)), byCreation(a, b)) }
}

// judgeHost compares a host with the older ones and with the networks.
func (r *record) judgeHost(i item, said any) string {
	h := said.(*hostRecord)
	if why := judgeHost(i.host, h); why != "" {
		return why
	}
	if old, is := i.before.(*hostRecord); is && old.ID != h.ID && !r.removed(old.ID) {
		return "it had another id before, and no operator has removed that host"
	}
	if i.host == r.self {
		return ""
	}
	if why := judgeUnderlay(h); why != "" {
		return why
	}
	if other, there := r.hosts[h.ID]; there {
		return "host " + other + " has its id, and was there before"
	}
	for _, u := range h.Underlay {
		for _, n := range r.networks {
			o := n.value.(*heddle.Network)
			for _, s := range o.Subnets {
				if s.Contains(u) {
					return "its underlay address " + u.String() + " is one of network " + o.Name
				}
			}
		}
	}
	return ""
}

// noBlock is the refusal of a block's record whose prefix is no block of the network.
const noBlock = "it is no block of its network"

// judgeRest judges what a record says about a host or an address.
func (r *record) judgeRest(i item, said any) string {
	_, n := r.network(i.place.network)
	self := value[hostRecord](r, selfKey(i.host))
	switch v := said.(type) {
	case *blockRecord:
		if n != nil && !isBlock(*n, i.prefix) {
			return noBlock
		}
		old, is := i.before.(*blockRecord)
		if is && old.Host != "" && old.Host != v.Host && !r.removed(old.Host) {
			return "host " + r.hostName(old.Host) + " has the block, and has not given it back"
		}
		return judgeBlock(v)
	case *pinRecord:
		return cmp.Or(judgePlace(i.place, n), judgeHolder(v.Host, self))
	case *wantRecord:
		return cmp.Or(judgePlace(i.place, n), judgeHolder(v.Host, self))
	case *answerRecord:
		return cmp.Or(judgePlace(i.place, n), judgeAnswer(i, v, value[hostRecord](r, selfKey(i.asker))))
	}
	return ""
}

// refuses says whether the store has a network with the ID, or possibly with it, that is
// not accepted. A network that cannot be read possibly has the ID if its name was the last
// known name of that network, or if no such name is known.
func (r *record) refuses(id string) bool {
	name, known := r.names[id]
	for key, i := range r.items {
		if n, is := i.said.(*heddle.Network); is && i.value == nil && (n.ID == id || i.unread != "" && (!known || key == networkKey(name))) {
			return true
		}
	}
	return false
}

// refusedNetworks says, by name, why networks in the store are not accepted.
func (r *record) refusedNetworks() map[string]string {
	all := map[string]string{}
	for _, i := range r.items {
		if _, is := i.said.(*heddle.Network); is && i.value == nil {
			all[strings.TrimPrefix(i.key, networksKey)] = i.refused
		}
	}
	return all
}

// mostRefused bounds the refusals listed for each writer, and for each kind that several
// may write.
const mostRefused = 32

// refusals lists the records that are not accepted, by key, and counts them. Hosts that
// are not accepted are always in the list.
func (r *record) refusals() (all []Refusal, total int) {
	told := map[string]int{}
	for _, key := range slices.Sorted(maps.Keys(r.items)) {
		i := r.items[key]
		if i.refused == "" {
			continue
		}
		total++
		from := i.host
		if from == "" {
			from, _, _ = strings.Cut(strings.TrimPrefix(key, Prefix), "/")
			from += "/" // no host name ends like this
		}
		_, host := i.said.(*hostRecord)
		if host || told[from] < mostRefused {
			all = append(all, Refusal{heddle.Clip(key), i.host, i.refused})
		}
		if !host {
			told[from]++
		}
	}
	return all, total
}
