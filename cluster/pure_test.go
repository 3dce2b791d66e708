package cluster

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"reflect"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

func entries(pairs ...any) (all []store.Entry) {
	for i := 0; i < len(pairs); i += 2 {
		e := entry(pairs[i].(string), pairs[i+1])
		e.Revision = int64(i + 1)
		all = append(all, e)
	}
	return all
}

func TestViewFromEntries(t *testing.T) {
	at := func(a string) netAddr { return netAddr{"00000000000000f1", netip.MustParseAddr(a)} }
	mine, other, gone := netip.MustParsePrefix("10.0.0.0/26"), netip.MustParsePrefix("10.0.0.64/26"), netip.MustParsePrefix("10.0.0.128/26")
	unknown := netip.MustParsePrefix("10.0.0.192/26")
	a, b := heddle.Host{Name: "a", ID: "000000000000000a"}, heddle.Host{Name: "b", ID: "000000000000000b"}
	m := memory{Cluster: "00000000000000c1", Host: a, Introduced: true}
	m.fill()
	m.Held[blockID{"00000000000000f1", mine}] = 1
	m.Pins[at("10.0.0.70")] = 1
	moved := func(a string) *Move {
		return &Move{Network: "00000000000000f1", Addr: at(a).ip, Endpoint: heddle.EndpointID{Container: "c", IfName: "eth0"}, From: "b", To: "a"}
	}
	var r record
	r.apply(store.Event{Revision: 50, Snapshot: true, Entries: entries(
		clusterKey, clusterRecord{ID: "00000000000000c1", VNI: 7, Port: 4789},
		selfKey("a"), hostRecord{a, "r"}, selfKey("b"), hostRecord{b, "r"},
		networkKey("net"), heddle.Network{ID: "00000000000000f1", Name: "net", Subnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")}, Gateways: []netip.Addr{netip.MustParseAddr("10.0.0.1")}},
		removedKey("00000000000000ee"), removedRecord{Name: "x"},
		blockKey("00000000000000f1", mine), blockRecord{"000000000000000a"},
		blockKey("00000000000000f1", other), blockRecord{"000000000000000b"},
		blockKey("00000000000000f1", gone), blockRecord{"00000000000000ee"},
		blockKey("00000000000000f1", unknown), blockRecord{"000000000000000a"},
		pinKey("a", at("10.0.0.70")), pinRecord{"000000000000000a"},
		pinKey("a", at("10.0.0.71")), pinRecord{"000000000000000a"}, // returned, still in the store
		pinKey("b", at("10.0.0.2")), pinRecord{"000000000000000b"},
		answerKey("b", "a", at("10.0.0.72")), answerRecord{Host: "000000000000000a", Move: moved("10.0.0.72")},
		answerKey("b", "a", at("10.0.0.73")), answerRecord{Host: "00000000000000dd", Move: moved("10.0.0.73")},
		Prefix+"members", "of another room")})
	m.Used[at("10.0.0.73")] = 1
	v := r.view(m, nil)
	if want := []heddle.Block{{Network: "00000000000000f1", Prefix: mine, Host: "000000000000000a"}, {Network: "00000000000000f1", Prefix: other, Host: "000000000000000b"}}; !reflect.DeepEqual(v.Blocks, want) {
		t.Errorf("blocks %+v", v.Blocks)
	}
	lent := heddle.Pin{Network: "00000000000000f1", Addr: at("10.0.0.2").ip, Host: "000000000000000b"}
	if want := []heddle.Pin{lent, {Network: "00000000000000f1", Addr: at("10.0.0.70").ip, Host: "000000000000000a"}}; !reflect.DeepEqual(v.Pins, want) {
		t.Errorf("pins %+v", v.Pins)
	}
	if !reflect.DeepEqual(v.Lent, []heddle.Pin{lent}) {
		t.Errorf("lent %+v", v.Lent)
	}
	if len(v.Moves) != 1 || v.Moves[0].Addr != at("10.0.0.72").ip || len(v.Peers) != 1 || v.VNI != 7 || v.Removed || v.Revision != 50 {
		t.Errorf("%+v", v)
	}
	if r.owner(blockID{"00000000000000f1", gone}) != "" {
		t.Error("the block of a removed host is not free")
	}
	r.apply(store.Event{Revision: 51, Deleted: []string{selfKey("a")}})
	if r.view(m, nil).Removed {
		t.Error("a host whose record is not there is removed, though nobody said so")
	}
	for _, e := range []store.Entry{entry(selfKey("a"), hostRecord{heddle.Host{Name: "a", ID: "00000000000000aa"}, "r"}), entry(removedKey("000000000000000a"), removedRecord{Name: "a"})} {
		r.apply(store.Event{Revision: 52, Entries: []store.Entry{e}})
		if !r.view(m, nil).Removed {
			t.Errorf("with %s, the host is not removed", e.Key)
		}
		r.apply(store.Event{Revision: 53, Deleted: []string{e.Key}})
	}
}

// TestTwoHostsAtOneAddress: the later host is no peer, however often the first one has rewritten
// its record.
func TestTwoHostsAtOneAddress(t *testing.T) {
	at := func(a ...string) (all []netip.Addr) {
		for _, s := range a {
			all = append(all, netip.MustParseAddr(s))
		}
		return all
	}
	self := heddle.Host{Name: "a", ID: "000000000000000a", Underlay: at("10.0.0.1")}
	first := heddle.Host{Name: "b", ID: "000000000000000b", Underlay: at("10.0.0.2", "fd00::2")}
	later := heddle.Host{Name: "c", ID: "000000000000000c", Underlay: at("10.0.0.3", "fd00::2")}
	mine := heddle.Host{Name: "d", ID: "000000000000000d", Underlay: at("10.0.0.1")}
	twice := heddle.Host{Name: "e", ID: "000000000000000b", Underlay: at("10.0.0.5")}
	gone := heddle.Host{Name: "x", ID: "00000000000000ee", Underlay: at("10.0.0.2")}
	var r record
	r.apply(store.Event{Revision: 90, Snapshot: true, Entries: entries(removedKey("00000000000000ee"), removedRecord{Name: "x"})})
	for _, e := range []struct {
		host              heddle.Host
		created, revision int64
	}{{self, 3, 3}, {first, 10, 80}, {later, 20, 20}, {mine, 2, 2}, {twice, 30, 30}, {gone, 1, 1}} {
		entry := entry(selfKey(e.host.Name), hostRecord{e.host, "r"})
		entry.Created, entry.Revision = e.created, e.revision
		r.apply(store.Event{Revision: 90, Entries: []store.Entry{entry}})
	}
	all, left := r.peers(self, nil)
	if !reflect.DeepEqual(all, []heddle.Host{first}) || !reflect.DeepEqual(left, []heddle.Host{mine, later}) {
		t.Errorf("peers %+v, left out %+v", all, left)
	}
	if told, n := r.refusals(); n != 1 || told[0].Writer != "e" {
		t.Errorf("of a host with another's id is told: %+v", told)
	}
	if other, a, found := r.hostWithAddress(self); !found || other.Name != "d" || a != self.Underlay[0] {
		t.Errorf("%+v at %s, %v", other, a, found)
	}
	if other, a, found := r.hostWithAddress(heddle.Host{ID: "new", Underlay: at("10.0.0.9")}); found {
		t.Errorf("%+v at %s", other, a)
	}
}

func TestHolds(t *testing.T) {
	var r record
	r.apply(store.Event{Revision: 9, Snapshot: true, Entries: entries(clusterKey, 1, networkKey("a"), 1, networkKey("b"), 1)}) // at 1, 3 and 5
	for _, c := range []struct {
		is   bool
		that store.Condition
	}{
		{true, store.Condition{Key: clusterKey, Revision: 1}},
		{false, store.Condition{Key: clusterKey, Revision: 2}},
		{false, store.Condition{Key: clusterKey}},
		{true, store.Condition{Key: removedKey("x")}},
		{false, store.Condition{Key: removedKey("x"), Revision: 1}},
		{true, store.Condition{Key: networksKey, Revision: 5, Prefix: true}},
		{false, store.Condition{Key: networksKey, Revision: 4, Prefix: true}},
		{false, store.Condition{Key: networksKey, Prefix: true}},
		{true, store.Condition{Key: blockKeys("00000000000000f1"), Prefix: true}},
	} {
		if got := r.holds([]store.Condition{{Key: clusterKey, Revision: 1}, c.that}); got != c.is {
			t.Errorf("%+v: %v", c.that, got)
		}
	}
}

func TestChoose(t *testing.T) {
	for subnet, blocks := range map[string]int{"10.1.0.0/24": 32, "10.1.0.0/30": 1, "10.1.0.0/20": 64, "fd00::/120": 16, "fd00::/64": 65536} {
		p := netip.MustParsePrefix(subnet)
		taken := map[netip.Prefix]bool{}
		for range min(blocks, 100) {
			b, free := freeBlock(heddle.Network{}, p, taken, nil)
			if !free || taken[b] || !p.Contains(b.Addr()) || b != heddle.BlockOf(p, b.Addr()) {
				t.Fatalf("%s: %s, %v", p, b, free)
			}
			taken[b] = true
		}
		if b, free := freeBlock(heddle.Network{}, p, taken, nil); free != (blocks > 100) {
			t.Errorf("%s has %s after %d", p, b, len(taken))
		}
	}
	p := netip.MustParsePrefix("10.1.0.0/24")
	ranged := heddle.Network{Ranges: []netip.Prefix{netip.MustParsePrefix("10.1.0.72/30"), netip.MustParsePrefix("fd00::/100")}}
	for _, draw := range []func(int) int{nil, func(n int) int { return n - 1 }} {
		if b, free := freeBlock(ranged, p, nil, draw); !free || b.String() != "10.1.0.72/29" {
			t.Errorf("with a range: %s", b)
		}
	}
}

func TestMemoryOnDisk(t *testing.T) {
	dir := t.TempDir()
	m := memory{Cluster: "c", Host: heddle.Host{Name: "a", ID: "i"}, Introduced: true}
	m.fill()
	m.Held[blockID{"n", netip.MustParsePrefix("fd00::/112")}] = 5
	m.Lent[netAddr{"n", netip.MustParseAddr("fd00::7")}] = "x"
	if err := saveMemory(dir, m); err != nil {
		t.Fatal(err)
	}
	got, err := loadMemory(dir)
	if err != nil || !reflect.DeepEqual(got, m) {
		t.Fatalf("%+v, %v", got, err)
	}
	text, _ := os.ReadFile(memoryPath(dir))
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	for i := range text {
		spoiled := append([]byte(nil), text...)
		spoiled[i] ^= 1
		if err := os.WriteFile(memoryPath(dir), spoiled, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := loadMemory(dir); err == nil && !reflect.DeepEqual(got, m) {
			t.Fatalf("byte %d changed: %+v", i, got)
		} else if err != nil && !errors.Is(err, heddle.LedgerBroken.Sentinel()) {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(memoryPath(dir), text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loadMemory(dir); !errors.Is(err, heddle.LedgerBroken.Sentinel()) {
		t.Fatal(err)
	}
}
