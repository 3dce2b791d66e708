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

// MaxNetworks is how many networks a cluster may have; the store's access control cannot
// count them. Each network is compared with all older ones.
const MaxNetworks = 1024

// affectsOthers says whether an item matters for the acceptance of other items.
func (i item) affectsOthers() bool {
	switch i.parsed.(type) {
	case *clusterRecord, *heddle.Network, *hostRecord, *removedRecord:
		return true
	}
	return false
}

// validate decides which of the changed records are accepted. If a change affects other
// records, it decides about all.
func (r *record) validate() {
	if r.changedAll {
		r.validateAll()
	} else {
		for _, key := range r.changedKeys {
			r.validateDependent(r.items[key])
		}
	}
	r.changedAll, r.changedKeys = false, nil
}

// validateAll decides about all records: first the networks, oldest first, then the hosts,
// then the records that are about networks or hosts.
func (r *record) validateAll() {
	var networks, hosts []item
	for key, i := range r.items {
		switch i.parsed.(type) {
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
	slices.SortFunc(hosts, r.byPriority())
	if r.networks != nil {
		r.acceptedBefore = map[string]bool{}
	}
	for id := range r.networks {
		r.acceptedBefore[id] = true
	}
	if r.lastNames == nil || len(r.lastNames) > 4*MaxNetworks {
		r.lastNames = map[string]string{}
	}
	r.networks, r.hosts = map[string]item{}, map[string]string{}
	for n, i := range networks {
		if n >= MaxNetworks {
			i.refused = fmt.Sprintf("there are %d older networks; a cluster has no more", MaxNetworks)
			r.items[i.key] = i
			continue
		}
		r.accept(i, func(i item, said any) string { return r.checkNetwork(i, said, hosts) })
	}
	for _, i := range hosts {
		r.accept(i, r.checkHost)
	}
	for _, i := range r.items {
		r.validateDependent(i)
	}
}

// validateDependent decides about a record that is about a network or a host.
func (r *record) validateDependent(i item) {
	switch i.parsed.(type) {
	case *blockRecord, *pinRecord, *wantRecord, *answerRecord, *aliveRecord, *removedRecord:
		r.accept(i, r.checkDependent)
	}
}

// accept accepts what a record says. If it cannot, it keeps what the key said before, if
// that can still be accepted.
func (r *record) accept(i item, judge func(i item, said any) string) {
	i.value, i.refused = i.parsed, i.parseError
	if i.refused == "" {
		i.refused = judge(i, i.parsed)
	}
	if i.refused != "" {
		i.value = nil
		if i.before != nil && judge(i, i.before) == "" {
			i.value = i.before
		} else if _, is := i.parsed.(*blockRecord); is && i.refused != notABlock {
			i.value = &blockRecord{} // the block is still taken
		}
	}
	switch v := i.value.(type) {
	case *heddle.Network:
		r.networks[v.ID], r.lastNames[v.ID] = i, v.Name
	case *hostRecord:
		r.hosts[v.ID] = v.Name
	}
	r.items[i.key] = i
}

// validateCluster decides about the cluster's own record.
func (r *record) validateCluster(i *item) {
	c := i.parsed.(*clusterRecord)
	if i.refused = i.parseError; i.refused == "" {
		i.refused = checkCluster(c)
	}
	if i.value = i.parsed; i.refused != "" {
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

// checkNetwork compares a network with the older ones and with the hosts' records.
func (r *record) checkNetwork(i item, said any, hosts []item) string {
	n := said.(*heddle.Network)
	if why := checkNetwork(strings.TrimPrefix(i.key, networksKey), n, r.fits); why != "" {
		return why
	}
	if old, is := i.before.(*heddle.Network); is && (old.ID != n.ID || !SameAddresses(*old, *n)) {
		return "it had another id or other addresses before; those of a network do not change"
	}
	if s, out := subnetOutside(r.ranges(), *n); out {
		return fmt.Sprintf("its subnet %s lies in none of the cluster's ranges (%s)", s, joinPrefixes(r.ranges()))
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
	return r.underlayInside(i, n, hosts)
}

// underlayInside finds a host whose underlay address is in the network, if the network is the
// newer of the two. A network that was accepted before stays.
func (r *record) underlayInside(i item, n *heddle.Network, hosts []item) string {
	if r.acceptedBefore[n.ID] {
		return ""
	}
	for _, other := range hosts {
		h := other.parsed.(*hostRecord)
		if other.parseError != "" || other.created > i.created || r.removed(h.ID) || checkHost(other.host, h) != "" {
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

// SameAddresses reports whether two records of a network have the same addresses.
func SameAddresses(a, b heddle.Network) bool {
	return a.Mode == b.Mode && slices.Equal(a.Subnets, b.Subnets) && slices.Equal(a.Gateways, b.Gateways) && slices.Equal(a.Ranges, b.Ranges)
}

// byPriority orders hosts: first the one that reads, then those that it knew and that are
// unchanged, then the others, oldest first.
func (r *record) byPriority() func(a, b item) int {
	ids := map[string]string{}
	for _, k := range r.knownPeers {
		ids[k.Name] = k.ID
	}
	standing := func(i item) int {
		h := i.parsed.(*hostRecord)
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

// checkHost compares a host with the older ones and with the networks.
func (r *record) checkHost(i item, said any) string {
	h := said.(*hostRecord)
	if why := checkHost(i.host, h); why != "" {
		return why
	}
	if old, is := i.before.(*hostRecord); is && old.ID != h.ID && !r.removed(old.ID) {
		return "it had another id before, and no operator has removed that host"
	}
	if i.host == r.self {
		return ""
	}
	if why := checkUnderlay(h); why != "" {
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

// notABlock is the refusal of a block's record whose prefix is no block of the network.
const notABlock = "it is no block of its network"

// checkDependent checks what a record says about a host or an address.
func (r *record) checkDependent(i item, said any) string {
	_, n := r.network(i.addr.network)
	self := value[hostRecord](r, selfKey(i.host))
	switch v := said.(type) {
	case *blockRecord:
		if n != nil && !isBlock(*n, i.prefix) {
			return notABlock
		}
		old, is := i.before.(*blockRecord)
		if is && old.Host != "" && old.Host != v.Host && !r.removed(old.Host) {
			return "host " + r.hostName(old.Host) + " has the block, and has not given it back"
		}
		return checkBlock(v)
	case *pinRecord:
		return cmp.Or(checkAddress(i.addr, n), checkHolder(v.Host, self))
	case *wantRecord:
		return cmp.Or(checkAddress(i.addr, n), checkHolder(v.Host, self))
	case *answerRecord:
		return cmp.Or(checkAddress(i.addr, n), checkAnswer(i, v, value[hostRecord](r, selfKey(i.asker))))
	}
	return ""
}

// refuses says whether the store has a network with the ID, or possibly with it, that is
// not accepted. A network that cannot be read possibly has the ID if its name was the last
// known name of that network, or if no such name is known.
func (r *record) refuses(id string) bool {
	name, known := r.lastNames[id]
	for key, i := range r.items {
		if n, is := i.parsed.(*heddle.Network); is && i.value == nil && (n.ID == id || i.parseError != "" && (!known || key == networkKey(name))) {
			return true
		}
	}
	return false
}

// refusedNetworks says, by name, why networks in the store are not accepted.
func (r *record) refusedNetworks() map[string]string {
	all := map[string]string{}
	for _, i := range r.items {
		if _, is := i.parsed.(*heddle.Network); is && i.value == nil {
			all[strings.TrimPrefix(i.key, networksKey)] = i.refused
		}
	}
	return all
}

// maxRefusals bounds the refusals listed for each writer, and for each kind that several
// may write.
const maxRefusals = 32

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
		_, host := i.parsed.(*hostRecord)
		if host || told[from] < maxRefusals {
			all = append(all, Refusal{heddle.Clip(key), i.host, i.refused})
		}
		if !host {
			told[from]++
		}
	}
	return all, total
}
