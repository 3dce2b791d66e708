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

const (
	idA, idB, idC = "000000000000000a", "000000000000000b", "000000000000000c"
	idN, idM      = "00000000000000f1", "00000000000000f2"
)

// history writes records one after the other, as a store does.
type history struct {
	record
	created map[string]int64
}

func newHistory() *history {
	h := &history{created: map[string]int64{}}
	h.self = "a"
	h.write(clusterKey, clusterRecord{ID: "00000000000000c1", VNI: 7, Port: 4789})
	h.write(selfKey("a"), hostRecord{heddle.Host{Name: "a", ID: idA, Underlay: []netip.Addr{netip.MustParseAddr("192.0.2.1")}}, "r"})
	h.write(selfKey("b"), hostRecord{heddle.Host{Name: "b", ID: idB, Underlay: []netip.Addr{netip.MustParseAddr("192.0.2.2")}}, "r"})
	h.write(networkKey("net"), shared("net", idN, "10.1.0.0/16"))
	return h
}

func shared(name, id, subnet string) heddle.Network {
	p := netip.MustParsePrefix(subnet)
	return heddle.Network{ID: id, Name: name, Mode: "overlay", Subnets: []netip.Prefix{p}, Gateways: []netip.Addr{p.Addr().Next()}}
}

func (h *history) write(key string, v any) {
	e := entry(key, v)
	if text, is := v.(string); is {
		e.Value = []byte(text)
	}
	e.Revision = h.revision + 1
	if h.created[key] == 0 {
		h.created[key] = e.Revision
	}
	e.Created = h.created[key]
	h.apply(store.Event{Revision: e.Revision, Entries: []store.Entry{e}})
}

func (h *history) drop(key string) {
	delete(h.created, key)
	h.apply(store.Event{Revision: h.revision + 1, Deleted: []string{key}})
}

// why is why the record of the key is not accepted.
func (h *history) why(key string) string { return h.items[key].refused }

// TestSpoiltLeavesWhatWas: an accepted value stays while its key has an invalid one.
func TestSpoiltLeavesWhatWas(t *testing.T) {
	block := netip.MustParsePrefix("10.1.0.0/26")
	b := blockID{idN, block}
	h := newHistory()
	h.write(blockKey(idN, block), blockRecord{idA})
	for _, spoilt := range []any{"{", "null", blockRecord{idB}, blockRecord{"x"}, blockRecord{}} {
		h.write(blockKey(idN, block), spoilt)
		if h.owner(b) != idA || h.why(blockKey(idN, block)) == "" {
			t.Errorf("after %v the block is %s's: %q", spoilt, h.owner(b), h.why(blockKey(idN, block)))
		}
	}
	h.write(removedKey(idA), removedRecord{Name: "a"})
	h.write(blockKey(idN, block), blockRecord{idB})
	if h.owner(b) != idB {
		t.Errorf("the block of a host that was removed goes to nobody: %s, %s", h.owner(b), h.why(blockKey(idN, block)))
	}
	h.drop(blockKey(idN, block))
	h.write(blockKey(idN, block), "{")
	if h.owner(b) != unknown {
		t.Errorf("a block that cannot be read is %q's", h.owner(b))
	}

	for _, spoilt := range []any{"{", shared("net", idM, "10.1.0.0/16"), shared("net", idN, "10.2.0.0/16"), shared("other", idN, "10.1.0.0/16"), shared("net", idN, "8.8.8.0/24")} {
		h.write(networkKey("net"), spoilt)
		if _, n := h.network(idN); n == nil || n.Subnets[0].String() != "10.1.0.0/16" || h.why(networkKey("net")) == "" {
			t.Errorf("after %v the network is %v", spoilt, n)
		}
	}
	next := shared("net", idN, "10.1.0.0/16")
	next.Internal = true
	h.write(networkKey("net"), next)
	if _, n := h.network(idN); n == nil || !n.Internal {
		t.Errorf("a change that may be is not taken on: %s", h.why(networkKey("net")))
	}
	h.drop(networkKey("net"))
	h.write(networkKey("x"), "{")
	if h.refuses(idN) || !h.refuses(idM) {
		t.Error("a record that cannot be read, and is called otherwise, keeps a network that was deleted; or not one that nobody knows")
	}
	h.write(networkKey("net"), "{")
	if _, n := h.network(idN); n != nil || !h.refuses(idN) {
		t.Errorf("a network that was deleted is %v", n)
	}
}

// TestOneCostsNoOther: of two records that contradict each other, the one that was there first
// stays, whichever host is older.
func TestOneCostsNoOther(t *testing.T) {
	h := newHistory() // b is older than c
	host := func(name, id, at string) hostRecord {
		return hostRecord{heddle.Host{Name: name, ID: id, Underlay: []netip.Addr{netip.MustParseAddr(at)}}, "r"}
	}
	h.write(selfKey("c"), host("c", idC, "192.0.2.3"))
	peers, _ := h.peers(heddle.Host{ID: idA}, nil)
	for what, theft := range map[string]hostRecord{"address": host("b", idB, "192.0.2.3"), "id": host("b", idC, "192.0.2.2"), "both": host("b", idC, "192.0.2.3")} {
		h.write(selfKey("b"), theft)
		all, _ := h.peers(heddle.Host{ID: idA}, peers)
		if !slices.ContainsFunc(all, func(p heddle.Host) bool { return p.Name == "c" && p.ID == idC }) || h.hostName(idC) != "c" {
			t.Errorf("who takes another's %s on costs that host its place: %+v", what, all)
		}
		h.write(selfKey("b"), host("b", idB, "192.0.2.2"))
	}
	h.write(selfKey("b"), host("b", idB, "10.1.0.9"))
	if _, n := h.network(idN); n == nil || !strings.Contains(h.why(selfKey("b")), "one of network net") {
		t.Errorf("a host within a network: %v, %s", n, h.why(selfKey("b")))
	}
	h.write(selfKey("b"), host("b", idB, "10.9.0.2"))
	h.write(networkKey("big"), shared("big", idM, "10.0.0.0/8"))
	h.write(networkKey("over"), shared("over", idM, "10.9.0.0/16"))
	if h.why(selfKey("b")) != "" || h.why(networkKey("big")) == "" || !strings.Contains(h.why(networkKey("over")), "underlay") {
		t.Errorf("a network over a host: %q, %q, %q", h.why(selfKey("b")), h.why(networkKey("big")), h.why(networkKey("over")))
	}
}

// TestRanges: networks lie in the cluster's.
func TestRanges(t *testing.T) {
	h := newHistory()
	for subnet, ok := range map[string]bool{"10.2.0.0/16": true, "172.20.0.0/24": true, "192.168.7.0/24": true, "fd00:7::/64": true,
		"8.8.8.0/24": false, "100.64.0.0/16": false, "172.0.0.0/8": false, "2001:db8::/64": false, "192.0.0.0/8": false} {
		h.write(networkKey("x"), shared("x", idM, subnet))
		if got := h.why(networkKey("x")) == ""; got != ok {
			t.Errorf("%s: %q", subnet, h.why(networkKey("x")))
		}
		h.drop(networkKey("x"))
	}
	h.write(networkKey("x"), shared("x", idM, "100.64.0.0/16"))
	h.write(clusterKey, clusterRecord{ID: "00000000000000c1", VNI: 7, Port: 4789, Ranges: []netip.Prefix{netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("10.0.0.0/8")}})
	if h.why(networkKey("x")) != "" {
		t.Error(h.why(networkKey("x")))
	}
	for _, bad := range []string{"0.0.0.0/0", "::/0", "10.0.0.1/8", "224.0.0.0/4", "127.0.0.0/8", "x"} {
		if _, err := ParseRanges(bad); err == nil {
			t.Errorf("%s is taken for a range", bad)
		}
	}
	if all, err := ParseRanges("10.0.0.0/8, fc00::/7"); err != nil || len(all) != 2 {
		t.Errorf("%v, %v", all, err)
	}
}

// TestValidatedOnce: a record that affects no other record causes no check but its own, and the
// number of networks is bounded, since they are compared with each other.
func TestValidatedOnce(t *testing.T) {
	h := newHistory()
	judged := 0
	h.fits = func(heddle.Network) error { judged++; return nil }
	at := netAddr{idN, netip.MustParseAddr("10.1.0.9")}
	h.write(wantKey("b", at), wantRecord{Host: idB})
	h.write(pinKey("b", at), pinRecord{idA})
	h.write(pinKey("a", at), pinRecord{idA})
	h.drop(wantKey("b", at))
	if judged > 0 || h.why(pinKey("b", at)) == "" || h.items[pinKey("a", at)].value == nil {
		t.Errorf("a network was judged %d times; %q, %+v", judged, h.why(pinKey("b", at)), h.items[pinKey("a", at)])
	}
	h.write(selfKey("b"), hostRecord{heddle.Host{Name: "b", ID: idB, Underlay: []netip.Addr{netip.MustParseAddr("192.0.2.9")}}, "r"})
	if judged == 0 {
		t.Error("no network was judged when a host had changed")
	}

	var many []store.Entry
	for i := range MaxNetworks + 7 {
		e := entry(networkKey(fmt.Sprintf("n%d", i)), shared(fmt.Sprintf("n%d", i), fmt.Sprintf("%016x", i+1), fmt.Sprintf("10.%d.%d.0/24", 2+i/256, i%256)))
		e.Created, e.Revision = int64(1000+i), int64(1000+i)
		many = append(many, e)
	}
	judged = 0
	h.apply(store.Event{Revision: 5000, Entries: many})
	if _, n := h.network(idN); n == nil || judged != MaxNetworks {
		t.Errorf("%d networks, %d judged, the oldest among them: %v", len(h.networks), judged, n)
	}
	if why := h.why(networkKey(fmt.Sprintf("n%d", MaxNetworks+6))); !strings.Contains(why, "older networks") {
		t.Errorf("the last network: %q", why)
	}
}

// TestRefusalsOfAll: a host that fills the list with refused records hides nobody else's records,
// and no refused host.
func TestRefusalsOfAll(t *testing.T) {
	h := newHistory()
	for i := range 2 * maxRefusals {
		h.write(Prefix+fmt.Sprintf("blocks/%s/10.1.%d.1/26", idN, i), blockRecord{"x"})
		h.write(pinKey("b", netAddr{idN, netip.MustParseAddr(fmt.Sprintf("10.9.0.%d", i))}), pinRecord{idB})
	}
	h.write(networkKey("bad"), "{")
	h.write(selfKey("b"), "{")
	h.write(pinKey("c", netAddr{idN, netip.MustParseAddr("10.9.0.1")}), pinRecord{idC})
	told, total := h.refusals()
	if total != 4*maxRefusals+3 || len(told) != 2*maxRefusals+3 {
		t.Errorf("of %d records %d are told", total, len(told))
	}
	for _, key := range []string{networkKey("bad"), selfKey("b"), pinKey("c", netAddr{idN, netip.MustParseAddr("10.9.0.1")})} {
		if !slices.ContainsFunc(told, func(f Refusal) bool { return f.Key == key }) {
			t.Errorf("of %s nobody is told", key)
		}
	}
}

// TestOverwrittenTwice: an accepted value stays, however often its key is overwritten before
// somebody reads it.
func TestOverwrittenTwice(t *testing.T) {
	block := netip.MustParsePrefix("10.1.0.0/26")
	key := blockKey(idN, block)
	h := newHistory()
	h.write(key, blockRecord{idA})
	for range 2 {
		e := entry(key, blockRecord{idB})
		e.Created, e.Revision = h.created[key], h.revision+1
		h.take(store.Event{Revision: e.Revision, Entries: []store.Entry{e}})
	}
	h.validate()
	if owner := h.owner(blockID{idN, block}); owner != idA {
		t.Errorf("the block is %s's: %q", owner, h.why(key))
	}
}

// TestAnswerToAHostThatIsAnother: the answer to a removed host is deleted, although it is no longer
// accepted when another host has the name.
func TestAnswerToAHostThatIsAnother(t *testing.T) {
	h := newHistory()
	p := netAddr{idN, netip.MustParseAddr("10.1.0.7")}
	h.write(wantKey("b", p), wantRecord{Host: idB})
	key := answerKey("a", "b", p)
	h.write(key, answerRecord{Host: idB, Want: h.revision})
	stale := func() []store.Change {
		c := &Cluster{o: Options{Self: heddle.Host{Name: "a", ID: idA}}, record: h.record}
		c.memory.fill()
		return c.staleAnswers()
	}
	if all := stale(); len(all) != 0 {
		t.Errorf("while b waits for it: %v", all)
	}
	for _, gone := range []string{wantKey("b", p), selfKey("b")} {
		h.drop(gone)
	}
	h.write(removedKey(idB), removedRecord{Name: "b"})
	h.write(selfKey("b"), hostRecord{heddle.Host{Name: "b", ID: idC, Underlay: []netip.Addr{netip.MustParseAddr("192.0.2.3")}}, "r"})
	if h.why(key) == "" {
		t.Error("the answer is taken on for another host")
	}
	if all := stale(); len(all) != 1 || !slices.Equal(all[0].Delete, []string{key}) {
		t.Errorf("it stays: %v", all)
	}
}

// TestUnknownPath: a cluster with a path that this host does not know is not accepted.
func TestUnknownPath(t *testing.T) {
	for name, taken := range map[string]bool{"": true, "vxlan": true, "pigeons": false} {
		why := checkCluster(&clusterRecord{ID: "00000000000000c1", VNI: 7, Port: 4789, Path: name})
		if (why == "") != taken {
			t.Errorf("path %q: %q", name, why)
		}
	}
}
