package cluster

import (
	"cmp"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// record is all keys of the cluster at a revision.
type record struct {
	revision int64
	items    map[string]item
	// self is the name of the host that reads; fits is the check of its modes.
	self string
	fits func(heddle.Network) error
	// knownPeers are hosts that were peers when this agent started.
	knownPeers []heddle.Host
	// acceptedBefore are the IDs of networks that were accepted before.
	acceptedBefore map[string]bool
	// lastNames are the last names, by ID, of networks that were accepted at some time.
	lastNames map[string]string
	// networks are the accepted ones, by ID; hosts are the names of the accepted hosts, by
	// ID.
	networks map[string]item
	hosts    map[string]string
	// changedAll says that all records have to be validated again, since a change may affect
	// other records. Otherwise only those of changedKeys have to be.
	changedAll  bool
	changedKeys []string
}

// apply takes in an event, and validates the changed records.
func (r *record) apply(e store.Event) {
	r.take(e)
	r.validate()
}

// take takes in an event. It keeps what a key said before: a change that is not accepted
// leaves the earlier value in place. A snapshot may be of another history.
func (r *record) take(e store.Event) {
	if e.Snapshot || r.items == nil {
		r.items, r.changedAll = map[string]item{}, true
	}
	for _, k := range e.Deleted {
		r.changedAll = r.changedAll || r.items[k].affectsOthers()
		delete(r.items, k)
	}
	for _, entry := range e.Entries {
		next, old := parseEntry(entry), r.items[entry.Key]
		if old.created == next.created && old.created != 0 {
			if next.before = old.value; next.before == nil {
				next.before = old.before // it was refused, or nobody has validated it yet
			}
		}
		if _, is := next.parsed.(*clusterRecord); is {
			r.validateCluster(&next)
		}
		r.items[entry.Key] = next
		r.changedAll = r.changedAll || next.affectsOthers()
		r.changedKeys = append(r.changedKeys, entry.Key)
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

// unknown is the owner of a block whose record cannot be read: it is still taken.
const unknown = "unknown"

// owner returns the host that has a block, "" if it is free: nobody has claimed it, or its
// host was removed.
func (r *record) owner(b blockID) string {
	v := value[blockRecord](r, blockKey(b.network, b.prefix))
	switch {
	case v == nil || r.removed(v.Host):
		return ""
	case v.Host == "":
		return unknown
	default:
		return v.Host
	}
}

// blockAround returns the claimed block that an address lies in.
func (r *record) blockAround(p netAddr) (item, bool) {
	for _, i := range r.items {
		if _, is := i.value.(*blockRecord); is && i.addr.network == p.network && i.prefix.Contains(p.ip) {
			return i, true
		}
	}
	return item{}, false
}

// pinsOf lists the pins of an address, the newest last. While the address moves, both
// hosts have a pin.
func (r *record) pinsOf(p netAddr) []item {
	var all []item
	for _, i := range r.items {
		if _, is := i.value.(*pinRecord); is && i.addr == p {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, byRevision)
	return all
}

// holds says whether the record meets all conditions.
func (r *record) holds(all []store.Condition) bool {
	for _, c := range all {
		if !c.Prefix && r.revisionOf(c.Key) != c.Revision || c.Prefix && r.lastRevision(c.Key) > c.Revision {
			return false
		}
	}
	return true
}

// lastRevision is the highest revision of the last changes of the existing keys with the
// prefix.
func (r *record) lastRevision(prefix string) (last int64) {
	for key, i := range r.items {
		if strings.HasPrefix(key, prefix) {
			last = max(last, i.revision)
		}
	}
	return last
}

func byRevision(a, b item) int { return cmp.Compare(a.revision, b.revision) }

// hostName returns the name of a host by its ID.
func (r *record) hostName(id string) string {
	if name, known := r.hosts[id]; known {
		return name
	}
	return id
}

// network returns a network's record by its ID.
func (r *record) network(id string) (item, *heddle.Network) {
	i := r.items[r.networks[id].key]
	n, _ := i.value.(*heddle.Network)
	return i, n
}
