package cluster

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// TestRecordsAreBounded: nobody accepts a record that is too long, or a network with too many
// entries; duplicates in a network are left out. A block stays taken.
func TestRecordsAreBounded(t *testing.T) {
	subnet := netip.MustParsePrefix("10.0.0.0/16")
	plain := heddle.Network{ID: "00000000000000aa", Name: "net", Mode: "overlay", Subnets: []netip.Prefix{subnet}, Gateways: []netip.Addr{subnet.Addr().Next()}}
	taken := func(all ...store.Entry) item {
		var r record
		r.apply(store.Event{Revision: 1, Snapshot: true, Entries: all})
		return r.items[all[len(all)-1].Key]
	}
	network := func(change func(*heddle.Network)) item {
		n := plain
		change(&n)
		return taken(entry(networkKey("net"), n))
	}
	ids := func(number int) (all []string) {
		for i := range number {
			all = append(all, fmt.Sprintf("%016x", i))
		}
		return all
	}
	for name, i := range map[string]item{
		"50,000 times the same": network(func(n *heddle.Network) { n.Allow = slices.Repeat(ids(1), 50_000) }),
		"500 others":            network(func(n *heddle.Network) { n.Allow = ids(500) }),
		"a long label": network(func(n *heddle.Network) {
			n.Docker = &heddle.DockerNetwork{Labels: map[string]string{"x": strings.Repeat("x", heddle.MaxRecord)}}
		}),
		"many labels": network(func(n *heddle.Network) {
			n.Labels = map[string]string{}
			for _, id := range ids(heddle.MaxLabels + 1) {
				n.Labels[id] = ""
			}
		}),
		"a label that turns the text": network(func(n *heddle.Network) { n.Labels = map[string]string{"a": "\u202e"} }),
		"a long host":                 taken(entry(selfKey("h"), hostRecord{Host: heddle.Host{Name: "h", Version: strings.Repeat("x", heddle.MaxRecord)}})),
	} {
		if i.value != nil {
			t.Errorf("%s is taken for a record", name)
		}
	}
	again := network(func(n *heddle.Network) { n.Allow = append(ids(2), ids(2)...) })
	if n, is := again.value.(*heddle.Network); !is || !slices.Equal(n.Allow, ids(2)) {
		t.Errorf("what is named again: %+v, %s", again.value, again.refused)
	}
	block := store.Entry{Key: blockKey(plain.ID, netip.MustParsePrefix("10.0.0.0/26")), Value: []byte(`"` + strings.Repeat("x", heddle.MaxRecord) + `"`)}
	if _, is := taken(entry(networkKey("net"), plain), block).value.(*blockRecord); !is {
		t.Error("a block with a long record is free")
	}
}

// TestWantsOfMany: a host with many wants does not delay another host.
func TestWantsOfMany(t *testing.T) {
	prefix := netip.MustParsePrefix("10.0.0.0/24")
	c := &Cluster{o: Options{Self: heddle.Host{Name: "a", ID: "ida"}}}
	c.memory.fill()
	c.memory.Held[blockID{"n", prefix}] = 1
	var all []store.Entry
	for addr := prefix.Addr(); prefix.Contains(addr); addr = addr.Next() {
		all = append(all, entry(wantKey("greedy", netAddr{"n", addr}), wantRecord{Host: "000000000000000a"}))
	}
	all = append(all, entry(wantKey("modest", netAddr{"n", prefix.Addr()}), wantRecord{Host: "000000000000000b"}))
	c.record.apply(store.Event{Revision: 1, Snapshot: true, Entries: all})
	by := map[string]int{}
	for _, w := range c.wanted() {
		by[w.host]++
	}
	if by["greedy"] != maxAnswers || by["modest"] != 1 {
		t.Errorf("answered in one round: %v", by)
	}
}

// TestWantOfNobody: a want that names no host is not answered, and an address that is set
// aside is on the disk: what is not there is never taken back.
func TestWantOfNobody(t *testing.T) {
	prefix := netip.MustParsePrefix("10.0.0.0/24")
	at := netAddr{"n", prefix.Addr()}
	c := &Cluster{o: Options{StateDir: t.TempDir(), Self: heddle.Host{Name: "a", ID: "000000000000000c"}}, updated: make(chan struct{}), changed: make(chan struct{}, 1)}
	c.view.Store(&View{})
	c.memory.fill()
	c.memory.Held[blockID{"n", prefix}] = 1
	c.record.apply(store.Event{Revision: 1, Snapshot: true, Entries: []store.Entry{entry(wantKey("gone", at), wantRecord{})}})
	if all := c.wanted(); len(all) != 0 {
		t.Errorf("wants of nobody are answered: %+v", all)
	}
	if _, err := c.recordLent(at, "", true); err != nil {
		t.Fatal(err)
	}
	if _, out := c.memory.Lent[at]; !out {
		t.Error("an address is set aside, and not on the disk")
	}
}
