package cluster

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/names"
	"github.com/heddle-network/heddle/store"
)

var web = heddle.EndpointID{Container: "web", IfName: "eth0"}

// nameView is a view in which host b has the block 10.1.0.0/26 and, lent by a, 10.1.1.5.
func nameView(t *testing.T) *View {
	t.Helper()
	h := newHistory()
	h.write(selfKey("c"), hostRecord{heddle.Host{Name: "c", ID: idC, Underlay: []netip.Addr{netip.MustParseAddr("192.0.2.3")}}, "r"})
	h.write(blockKey(idN, netip.MustParsePrefix("10.1.0.0/26")), blockRecord{idB})
	h.write(blockKey(idN, netip.MustParsePrefix("10.1.0.64/26")), blockRecord{idC})
	h.write(blockKey(idN, netip.MustParsePrefix("10.1.1.0/26")), blockRecord{idA})
	h.write(pinKey("b", netAddr{idN, netip.MustParseAddr("10.1.1.5")}), pinRecord{idB})
	h.write(pinKey("c", netAddr{idN, netip.MustParseAddr("10.1.0.9")}), pinRecord{idC})
	h.write(networkKey("other"), shared("other", idM, "10.9.0.0/16"))
	m := memory{Cluster: "00000000000000c1", Host: heddle.Host{Name: "a", ID: idA}, Introduced: true}
	m.fill()
	m.Held[blockID{idN, netip.MustParsePrefix("10.1.1.0/26")}] = 1
	return h.view(m, nil)
}

func said(host string, addrs ...string) nameRecord {
	r := nameRecord{Host: host, Name: "web"}
	for _, a := range addrs {
		r.Addrs = append(r.Addrs, netip.MustParseAddr(a))
	}
	return r
}

// TestNamesOfOthers: a record is taken on for the addresses of its writer, and for no others.
func TestNamesOfOthers(t *testing.T) {
	v := nameView(t)
	with := func(change func(*nameRecord)) nameRecord {
		r := said(idB, "10.1.0.2")
		change(&r)
		return r
	}
	long := strings.Repeat("a", 64)
	var many []string
	for i := range heddle.MaxAliases + 1 {
		many = append(many, fmt.Sprintf("n%02d", i))
	}
	for what, c := range map[string]struct {
		host, network string
		record        any
		why           string
	}{
		"an address of its block":          {"b", idN, said(idB, "10.1.0.2"), ""},
		"with ports":                       {"b", idN, with(func(r *nameRecord) { r.Ports = []string{"53/udp", "80/sctp", "80/tcp"} }), ""},
		"a malformed port":                 {"b", idN, with(func(r *nameRecord) { r.Ports = []string{"http/tcp"} }), "malformed port"},
		"an address that is lent to it":    {"b", idN, said(idB, "10.1.1.5"), ""},
		"an address of another's block":    {"b", idN, said(idB, "10.1.0.70"), "in no block of host b"},
		"an address of the reader's block": {"b", idN, said(idB, "10.1.1.6"), "in no block of host b"},
		"an address that it has lent out":  {"b", idN, said(idB, "10.1.0.9"), "in no block of host b"},
		"an address of no block":           {"b", idN, said(idB, "10.1.4.1"), "in no block of host b"},
		"an address of no network":         {"b", idN, said(idB, "8.8.8.8"), "in no block of host b"},
		"one of two addresses another's":   {"b", idN, said(idB, "10.1.0.2", "fd00::1"), "fd00::1"},
		"the gateway":                      {"b", idN, said(idB, "10.1.0.1"), "gateway"},
		"two of one family":                {"b", idN, said(idB, "10.1.0.2", "10.1.0.3"), "each family"},
		"no address":                       {"b", idN, said(idB), "each family"},
		"a loopback address":               {"b", idN, said(idB, "127.0.0.1"), "loopback"},
		"a network without its block":      {"b", idM, said(idB, "10.9.0.2"), "in no block"},
		"no network":                       {"b", "00000000000000ff", said(idB, "10.1.0.2"), "no such network"},
		"another host's id":                {"b", idN, said(idC, "10.1.0.70"), "another host"},
		"no host's id":                     {"b", idN, said("x", "10.1.0.2"), "names no host"},
		"an unknown host":                  {"x", idN, said(idB, "10.1.0.2"), "no host of the cluster"},
		"no name":                          {"b", idN, with(func(r *nameRecord) { r.Name = "" }), "no name"},
		"an alias alone":                   {"b", idN, with(func(r *nameRecord) { r.Name, r.Aliases = "", []string{"api"} }), ""},
		"capital letters":                  {"b", idN, with(func(r *nameRecord) { r.Name = "Web" }), "canonical"},
		"a bad name":                       {"b", idN, with(func(r *nameRecord) { r.Name = "a b" }), "no name has"},
		"a long label":                     {"b", idN, with(func(r *nameRecord) { r.Name = long }), "64 bytes"},
		"aliases out of order":             {"b", idN, with(func(r *nameRecord) { r.Aliases = []string{"b", "a"} }), "canonical"},
		"too many aliases":                 {"b", idN, with(func(r *nameRecord) { r.Aliases = many }), "aliases"},
		"no JSON":                          {"b", idN, "{", "cannot be read"},
		"null":                             {"b", idN, "null", "names no host"},
		"a long record":                    {"b", idN, `{"host":"` + strings.Repeat(" ", maxNameRecord) + `"}`, "bytes"},
	} {
		var table nameTable
		table.clear()
		e := entry(nameKey(c.host, c.network, web), c.record)
		if text, is := c.record.(string); is {
			e.Value = []byte(text)
		}
		if !table.put(e) {
			t.Fatalf("%s: %s is no name's key", what, e.Key)
		}
		table.put(entry(nameKey("c", c.network, web), said(idC, "10.1.0.71"))) // costs nothing
		var items []*nameItem
		for _, i := range table.byNetwork[c.network].items {
			items = append(items, i)
		}
		n := judgeNames(v, c.network, items)
		of := func(host string) bool {
			return slices.ContainsFunc(n.Endpoints, func(e names.Endpoint) bool { return e.Host == host })
		}
		if of(c.host) != (c.why == "") || of("c") != (c.network == idN) {
			t.Errorf("%s: %+v", what, n)
		}
		if i := slices.IndexFunc(n.refused, func(f Refusal) bool { return f.Writer == c.host }); c.why != "" && (i < 0 || !strings.Contains(n.refused[i].Reason, c.why)) {
			t.Errorf("%s is told as %+v", what, n.refused)
		}
	}
}

// TestNamesAreBounded: a host that writes too many names costs nobody else's, and what goes makes
// room.
func TestNamesAreBounded(t *testing.T) {
	var table nameTable
	table.clear()
	key := func(host string, i int) string {
		return nameKey(host, idN, heddle.EndpointID{Container: fmt.Sprint("c", i), IfName: "eth0"})
	}
	for i := range MaxNames + 2 {
		table.put(entry(key("b", i), said(idB, "10.1.0.2")))
	}
	table.put(entry(key("c", 0), said(idC, "10.1.0.70")))
	if i := table.get(key("b", MaxNames+1)); i == nil || !strings.Contains(i.refused, "no more") {
		t.Errorf("one too many: %+v", i)
	}
	if i := table.get(key("c", 0)); i == nil || i.refused != "" {
		t.Errorf("another host's: %+v", i)
	}
	table.put(entry(key("b", 1), said(idB, "10.1.0.3"))) // a change is no further one
	if i := table.get(key("b", 1)); i.refused != "" {
		t.Error(i.refused)
	}
	table.remove(key("b", 2))
	table.put(entry(key("b", MaxNames+1), said(idB, "10.1.0.2")))
	if i := table.get(key("b", MaxNames+1)); i.refused != "" {
		t.Error(i.refused)
	}
	for _, network := range table.networks() {
		for k := range table.byNetwork[network].items {
			table.remove(k)
		}
	}
	if len(table.byNetwork)+len(table.accepted) > 0 {
		t.Errorf("left %v, %v", table.byNetwork, table.accepted)
	}
}

// TestNamesMakeNoView: a change of names alone makes no view anew and wakes nobody but who waits
// for names, or for the revision.
func TestNamesMakeNoView(t *testing.T) {
	c := &Cluster{accepted: true, updated: make(chan struct{}), changed: make(chan struct{}, 1), namesChanged: make(chan struct{}, 1),
		pending: make(chan struct{}, 1), fenceLost: make(chan struct{}, 1), namesPending: make(chan struct{}, 1),
		own: ownNames{byNetwork: map[string]map[string]nameRecord{}, open: map[string]bool{}}, judged: map[string]judgedNames{}}
	v := nameView(t)
	c.o.Self = v.Self
	c.view.Store(v)
	c.record.items = map[string]item{}
	c.names.clear()
	before := c.Names(idN)
	waits := c.updated
	e := entry(nameKey("b", idN, web), said(idB, "10.1.0.2"))
	if c.take([]store.Event{{Revision: 900, Entries: []store.Entry{e}}}) {
		t.Error("the view has changed")
	}
	if len(c.changed)+len(c.pending)+len(c.namesPending) > 0 || len(c.namesChanged) != 1 {
		t.Error("somebody was woken who does not wait for names, or who does was not")
	}
	select {
	case <-waits:
	default:
		t.Error("who waits for a revision was not woken")
	}
	if now := c.View(); now.Revision != 900 || &now.Blocks[0] != &v.Blocks[0] {
		t.Errorf("the view of revision %d is another one", now.Revision)
	}
	now := c.Names(idN)
	if len(now.Endpoints) != 1 || now == before {
		t.Errorf("%+v", now)
	}
	c.take([]store.Event{{Revision: 901, Entries: []store.Entry{e}}}) // the same again
	if c.Names(idN) != now {
		t.Error("names that have not changed are others")
	}
	c.take([]store.Event{{Revision: 902, Deleted: []string{e.Key}}})
	if left := c.Names(idN); len(left.Endpoints) > 0 {
		t.Errorf("%+v", left)
	}
}
