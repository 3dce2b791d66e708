package cluster

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/names"
	"github.com/heddle-network/heddle/store"
)

// The bounds of names in the store.
const (
	// MaxNames is how many endpoints with names a host may have.
	MaxNames = 16384
	// maxNameRecord is the maximum length of a record, in bytes of JSON. It is checked before the
	// record is parsed.
	maxNameRecord = 8 << 10
)

func nameKeys(host string) string { return hostKeys(host) + "names/" }
func nameKey(host, network string, id heddle.EndpointID) string {
	return nameKeys(host) + network + "/" + id.Container + "/" + id.IfName
}

// nameRecord is what an endpoint is called, and its addresses. The key says which endpoint.
type nameRecord struct {
	Host    string       `json:"host"`
	Name    string       `json:"name,omitempty"`
	Aliases []string     `json:"aliases,omitempty"`
	Addrs   []netip.Addr `json:"addrs"`
	Ports   []string     `json:"ports,omitempty"`
}

func (r nameRecord) equal(o nameRecord) bool {
	return r.Host == o.Host && r.Name == o.Name && slices.Equal(r.Aliases, o.Aliases) && slices.Equal(r.Addrs, o.Addrs) &&
		slices.Equal(r.Ports, o.Ports)
}

// nameItem is a name's entry that was read. It does not change.
type nameItem struct {
	key, host, network string
	id                 heddle.EndpointID
	said               nameRecord
	// refused says why the record is not accepted, whatever the other records say.
	refused string
}

// nameTable has the names of the record. They are kept apart from the other items: there may be
// many, they change with every endpoint, and nothing else depends on them.
type nameTable struct {
	// byNetwork has the names of each network, by its ID.
	byNetwork map[string]*networkItems
	// changes counts the changes of the table.
	changes uint64
	// accepted counts the items of each host that are not refused.
	accepted map[string]int
}

// networkItems are the names of a network, by key.
type networkItems struct {
	items map[string]*nameItem
	// changed is the number of the table's last change that was one of these.
	changed uint64
}

// isName splits the key of a name: below which host's name it is, of which network and endpoint.
func isName(key string) (host, network string, id heddle.EndpointID, is bool) {
	part := strings.Split(strings.TrimPrefix(key, Prefix), "/")
	if len(part) != 6 || part[0] != "hosts" || part[2] != "names" {
		return "", "", id, false
	}
	return part[1], part[3], heddle.EndpointID{Container: part[4], IfName: part[5]}, true
}

// clear empties the table.
func (t *nameTable) clear() {
	t.byNetwork, t.accepted = map[string]*networkItems{}, map[string]int{}
}

// put takes in an entry, and reports whether it is one about a name.
func (t *nameTable) put(e store.Entry) bool {
	host, network, id, is := isName(e.Key)
	if !is {
		return false
	}
	t.remove(e.Key)
	i := &nameItem{key: e.Key, host: host, network: network, id: id}
	if i.refused = i.parse(e.Value); i.refused == "" && t.accepted[host] >= MaxNames {
		i.refused = fmt.Sprintf("its host has %d names, and can have no more", MaxNames)
	}
	if i.refused == "" {
		t.accepted[host]++
	} else {
		i.said = nameRecord{}
	}
	n := t.byNetwork[network]
	if n == nil {
		n = &networkItems{items: map[string]*nameItem{}}
		t.byNetwork[network] = n
	}
	t.changes++
	n.items[e.Key], n.changed = i, t.changes
	return true
}

// remove drops a key, and reports whether it is one of a name.
func (t *nameTable) remove(key string) bool {
	host, network, _, is := isName(key)
	i := t.get(key)
	if i == nil {
		return is
	}
	if i.refused == "" {
		if t.accepted[host]--; t.accepted[host] == 0 {
			delete(t.accepted, host)
		}
	}
	t.changes++
	n := t.byNetwork[network]
	n.changed = t.changes
	if delete(n.items, key); len(n.items) == 0 {
		delete(t.byNetwork, network)
	}
	return true
}

// get returns the item of a key; nil if there is none.
func (t *nameTable) get(key string) *nameItem {
	_, network, _, _ := isName(key)
	if n := t.byNetwork[network]; n != nil {
		return n.items[key]
	}
	return nil
}

// keysOf lists the keys below a host's name.
func (t *nameTable) keysOf(host string) (all []string) {
	for _, n := range t.byNetwork {
		for key, i := range n.items {
			if i.host == host {
				all = append(all, key)
			}
		}
	}
	return all
}

// networks lists the networks of which there are names, by ID.
func (t *nameTable) networks() []string { return slices.Sorted(maps.Keys(t.byNetwork)) }

// parse reads a record, and returns why it is not accepted, whatever the other records say.
func (i *nameItem) parse(text []byte) string {
	if len(text) > maxNameRecord {
		return fmt.Sprintf("it has %d bytes", len(text))
	}
	if why := decode(text, &i.said); why != "" {
		return why
	}
	return i.said.check(i.id)
}

// check checks a record by itself.
func (r nameRecord) check(id heddle.EndpointID) string {
	if id.Check() != nil {
		return "it is of no endpoint"
	}
	if !idForm.MatchString(r.Host) {
		return "it names no host"
	}
	name, aliases, err := heddle.CheckNames(id.String(), r.Name, r.Aliases)
	switch {
	case err != nil:
		return heddle.SentenceOf(err)
	case name != r.Name || !slices.Equal(aliases, r.Aliases):
		return "its names are not in their canonical form"
	case name == "" && len(aliases) == 0:
		return "it has no name"
	case len(r.Addrs) == 0 || len(r.Addrs) > 2 || len(r.Addrs) == 2 && heddle.FamilyOf(r.Addrs[0]) == heddle.FamilyOf(r.Addrs[1]):
		return "it has not one address of each family at most, and one at least"
	}
	for _, a := range r.Addrs {
		if why := unreachable(a); why != "" {
			return "its address " + a.String() + " is " + why
		}
	}
	return names.BadPorts(r.Ports)
}
