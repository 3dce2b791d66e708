package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/store"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/port"
)

// serve runs a store in this process and returns its address.
func serve(t *testing.T) string {
	t.Helper()
	at, _ := server(t, 0)
	return at
}

// server runs a store with a quota in bytes; 0 is the usual one.
func server(t *testing.T, quota int64) (string, *store.Server) {
	t.Helper()
	at := port.Free(t)
	s, err := store.StartServer(store.ServerOptions{Name: "a", Quota: quota, Dir: t.TempDir(), Client: []netip.AddrPort{at}, Peer: []netip.AddrPort{port.Free(t)}})
	cell.Must(t, err)
	t.Cleanup(func() { cell.Must(t, s.Close()) })
	select {
	case <-s.Ready():
	case <-time.After(time.Minute):
		t.Fatal("the store does not start")
	}
	return at.String(), s
}

func dial(t *testing.T, address string) store.Store {
	t.Helper()
	s, err := store.Dial(store.Options{Endpoints: []string{address}})
	cell.Must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func wait(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func options(t *testing.T, s store.Store, name, dir string) cluster.Options {
	return cluster.Options{Store: s, StateDir: dir, Wait: 2 * time.Minute,
		Self: heddle.Host{Name: name, Underlay: []netip.Addr{underlayOf(name)}, MTU: 1500}}
}

func open(t *testing.T, s store.Store, name, dir string) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Open(wait(t), options(t, s, name, dir))
	cell.Must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func lan(name, subnet string) heddle.Network {
	h := fnv.New64a()
	fmt.Fprint(h, name)
	p := netip.MustParsePrefix(subnet)
	return heddle.Network{ID: fmt.Sprintf("%016x", h.Sum64()), Name: name, Mode: "overlay", Subnets: []netip.Prefix{p}, Gateways: []netip.Addr{p.Addr().Next()}}
}

// shop lends addresses that are not taken.
type shop struct {
	mu    sync.Mutex
	taken map[netip.Addr]bool
	lent  map[netip.Addr]bool
}

func newShop(taken ...string) *shop {
	s := &shop{taken: map[netip.Addr]bool{}, lent: map[netip.Addr]bool{}}
	for _, a := range taken {
		s.taken[netip.MustParseAddr(a)] = true
	}
	return s
}

func (s *shop) Lend(_ string, a netip.Addr) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[a] {
		return errors.New("endpoint x/eth0 has it")
	}
	s.lent[a] = true
	return nil
}

func (s *shop) Reclaim(_ string, a netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.lent, a)
}

func (s *shop) out() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lent)
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	poll.For(t, 2*time.Minute, 10*time.Millisecond, what, ok)
}

func TestClaimBorrowMoveDelete(t *testing.T) {
	at := serve(t)
	a, b, c := open(t, dial(t, at), "a", t.TempDir()), open(t, dial(t, at), "b", t.TempDir()), open(t, dial(t, at), "c", t.TempDir())
	if a.View().Cluster == "" || a.View().VNI != b.View().VNI {
		t.Fatalf("%+v and %+v", a.View(), b.View())
	}
	n, err := a.CreateNetwork(wait(t), lan("web", "10.1.0.0/24"), nil)
	cell.Must(t, err)
	_, err = b.CreateNetwork(wait(t), lan("other", "10.1.0.0/16"), nil)
	if !errors.Is(err, heddle.SubnetOverlap.Sentinel()) {
		t.Fatal(err)
	}
	subnet := n.Subnets[0]
	until(t, "b has the network", func() bool { return len(b.View().Networks) == 1 })
	first, err := a.ClaimBlock(wait(t), n, subnet, netip.Addr{})
	cell.Must(t, err)
	second, err := b.ClaimBlock(wait(t), n, subnet, netip.Addr{})
	cell.Must(t, err)
	if first != netip.MustParsePrefix("10.1.0.0/29") || second == first {
		t.Fatal(first, second)
	}
	if got := a.View().BlocksOf(n.ID, a.View().Self.ID); len(got) != 1 || got[0] != first {
		t.Fatal(got)
	}
	shops := []*shop{newShop("10.1.0.3"), newShop()}
	for i, x := range []*cluster.Cluster{a, b} {
		go x.Serve(t.Context(), shops[i])
	}
	borrowed := netip.MustParseAddr("10.1.0.2")
	_, err = b.ClaimBlock(wait(t), n, subnet, borrowed)
	if !errors.Is(err, heddle.AddressTaken.Sentinel()) {
		t.Fatal(err)
	}
	id := heddle.EndpointID{Container: "box", IfName: "eth0"}
	cell.Must(t, b.Borrow(wait(t), n.ID, borrowed, id))
	pin := heddle.Pin{Network: n.ID, Addr: borrowed, Host: b.View().Self.ID}
	if v := b.View(); len(v.Pins) != 1 || v.Pins[0] != pin {
		t.Fatalf("%+v", v.Pins)
	}
	until(t, "a knows that it is lent", func() bool { return len(a.View().Lent) == 1 && a.View().Lent[0] == pin })
	err = b.Borrow(wait(t), n.ID, netip.MustParseAddr("10.1.0.3"), id)
	if !errors.Is(err, heddle.AddressTaken.Sentinel()) {
		t.Fatal(err)
	}
	err = a.YieldBlock(wait(t), n.ID, first)
	if !errors.Is(err, heddle.AddressTaken.Sentinel()) {
		t.Fatal(err)
	}

	cell.Must(t, b.Send(wait(t), cluster.Move{Network: n.ID, Addr: borrowed, Endpoint: id, To: "c"}))
	until(t, "c knows of the move", func() bool { return len(c.View().Moves) == 1 })
	cell.Must(t, c.Borrow(wait(t), n.ID, borrowed, id))
	pin.Host = c.View().Self.ID
	until(t, "the pin is c's alone", func() bool {
		v := a.View()
		return len(v.Pins) == 1 && v.Pins[0] == pin && len(v.Lent) == 1 && v.Lent[0] == pin && len(c.View().Moves) == 0
	})
	cell.Must(t, c.Send(wait(t), cluster.Move{Network: n.ID, Addr: borrowed, Endpoint: id, To: "a"}))
	until(t, "it came home", func() bool { return len(a.View().Moves) == 1 && len(a.View().Lent) == 0 && shops[0].out() == 0 })

	err = a.DeleteNetwork(wait(t), n.ID)
	if !errors.Is(err, heddle.NetworkInUse.Sentinel()) {
		t.Fatal(err)
	}
	cell.Must(t, a.YieldBlock(wait(t), n.ID, first))
	cell.Must(t, b.YieldBlock(wait(t), n.ID, second))
	err = a.DeleteNetwork(wait(t), "another one that had its name")
	if !errors.Is(err, heddle.NoNetwork.Sentinel()) {
		t.Fatal(err)
	}
	cell.Must(t, a.DeleteNetwork(wait(t), n.ID))
	until(t, "all see that it is gone", func() bool { return len(a.View().Networks)+len(b.View().Networks)+len(c.View().Networks) == 0 })
}

func TestStartsWithoutStore(t *testing.T) {
	at, dir := serve(t), t.TempDir()
	s := dial(t, at)
	a := open(t, s, "a", dir)
	n, err := a.CreateNetwork(wait(t), lan("web", "10.1.0.0/24"), []netip.Prefix{netip.MustParsePrefix("10.1.0.8/29")})
	cell.Must(t, err)
	block, err := a.ClaimBlock(wait(t), n, n.Subnets[0], netip.Addr{})
	cell.Must(t, err)
	id := a.View().Self.ID
	cell.Must(t, a.Close())
	nowhere := dial(t, port.Free(t).String())
	o := options(t, nowhere, "a", dir)
	o.Wait = 100 * time.Millisecond
	a, err = cluster.Open(wait(t), o)
	cell.Must(t, err)
	defer a.Close()
	v := a.View()
	if got := v.BlocksOf(n.ID, id); v.Revision != 0 || v.Self.ID != id || len(got) != 2 || got[0] != block || len(v.Networks) != 1 {
		t.Fatalf("%+v", v)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err = a.ClaimBlock(ctx, n, n.Subnets[0], netip.Addr{})
	if !errors.Is(err, heddle.StoreDown.Sentinel()) {
		t.Fatal(err)
	}
}

func TestAnotherStore(t *testing.T) {
	first, second, dir := serve(t), serve(t), t.TempDir()
	a := open(t, dial(t, first), "a", dir)
	id := a.View().Cluster
	cell.Must(t, a.Close())
	a = open(t, dial(t, second), "a", dir)
	v := a.View()
	if v.Strange == nil || !errors.Is(v.Strange, heddle.StoreStrange.Sentinel()) || v.Cluster != id {
		t.Fatalf("%+v", v)
	}
	_, err := a.CreateNetwork(wait(t), lan("web", "10.1.0.0/24"), nil)
	if !errors.Is(err, heddle.StoreStrange.Sentinel()) {
		t.Fatal(err)
	}
	s, err := dial(t, second).Read(wait(t), cluster.Prefix)
	cell.Must(t, err)
	if len(s.Entries) != 0 {
		t.Fatalf("written: %+v", s.Entries)
	}
}

func TestRemovedHost(t *testing.T) {
	at, dir := serve(t), t.TempDir()
	s := dial(t, at)
	a, b := open(t, dial(t, at), "a", dir), open(t, dial(t, at), "b", t.TempDir())
	n, err := a.CreateNetwork(wait(t), lan("web", "10.1.0.0/24"), nil)
	cell.Must(t, err)
	block, err := a.ClaimBlock(wait(t), n, n.Subnets[0], netip.Addr{})
	cell.Must(t, err)
	until(t, "a is connected", func() bool { return b.View().Alive["a"] })
	if err := b.RemoveHost(wait(t), s, "a", false); !errors.Is(err, heddle.HostAlive.Sentinel()) {
		t.Fatal(err)
	}
	_, err = cluster.Open(wait(t), options(t, s, "a", t.TempDir()))
	if !errors.Is(err, heddle.HostExists.Sentinel()) {
		t.Fatal(err)
	}
	cell.Must(t, b.RemoveHost(wait(t), s, "a", true))
	cell.Must(t, b.RemoveHost(wait(t), s, "a", true)) // finishes the interrupted removal
	until(t, "a sees it", func() bool { return a.View().Removed })
	if _, err := a.ClaimBlock(wait(t), n, n.Subnets[0], netip.Addr{}); !errors.Is(err, heddle.HostRemoved.Sentinel()) {
		t.Fatal(err)
	}
	if again, err := b.ClaimBlock(wait(t), n, n.Subnets[0], netip.Addr{}); err != nil || again != block {
		t.Fatal(again, err)
	}
	cell.Must(t, a.Close())
	a = open(t, dial(t, at), "a", dir)
	if !a.View().Removed {
		t.Fatalf("%+v", a.View())
	}
	if err := b.RemoveHost(wait(t), s, "nobody", true); !errors.Is(err, heddle.NoHost.Sentinel()) {
		t.Fatal(err)
	}
	open(t, dial(t, at), "a", t.TempDir()) // installed anew
}

// TestSameUnderlay has a host join with the address of another one, and one that is there already
// because an older program allowed it.
func TestSameUnderlay(t *testing.T) {
	at, dir, dirB := serve(t), t.TempDir(), t.TempDir()
	s := dial(t, at)
	a, b := open(t, dial(t, at), "a", t.TempDir()), open(t, dial(t, at), "b", dirB)
	o := options(t, dial(t, at), "anew", dir)
	o.Self.Underlay = []netip.Addr{underlayOf("b")}
	if _, err := cluster.Open(wait(t), o); !errors.Is(err, heddle.HostExists.Sentinel()) || !strings.Contains(err.Error(), "host remove b") {
		t.Fatal(err)
	}
	late := fmt.Sprintf(`{"name":"late","id":"0000000000001234","underlay":[%q],"mtu":1500,"run":"x"}`, underlayOf("b"))
	_, _, err := s.Commit(wait(t), store.Change{Put: []store.Entry{{Key: cluster.Prefix + "hosts/late/self", Value: []byte(late)}}})
	cell.Must(t, err)
	firstOnly := func() bool {
		v := a.View()
		return len(v.Peers) == 1 && v.Peers[0].Name == "b" && len(v.LeftOut) == 1 && v.LeftOut[0].Name == "late"
	}
	until(t, "a leaves out the later one", firstOnly)
	cell.Must(t, b.Close())
	b = open(t, dial(t, at), "b", dirB) // not refused, though another host has its address by now
	until(t, "a has seen b again", func() bool { return a.View().Revision >= b.View().Revision })
	if !firstOnly() {
		t.Fatalf("b lost its place by its start: %+v, left out %+v", a.View().Peers, a.View().LeftOut)
	}
	cell.Must(t, a.RemoveHost(wait(t), s, "b", true))
	cell.Must(t, a.RemoveHost(wait(t), s, "late", true))
	c, err := cluster.Open(wait(t), o)
	cell.Must(t, err)
	cell.Must(t, c.Close())
}

func TestTwins(t *testing.T) {
	at, dir, copied := serve(t), t.TempDir(), t.TempDir()
	a := open(t, dial(t, at), "a", dir)
	o := options(t, dial(t, at), "a", copied)
	o.Self.ID = a.View().Self.ID
	b, err := cluster.Open(wait(t), o)
	cell.Must(t, err)
	defer b.Close()
	until(t, "the first sees the second", func() bool { return errors.Is(a.View().Strange, heddle.HostExists.Sentinel()) })
	if b.View().Strange != nil {
		t.Fatal(b.View().Strange)
	}
}

func TestAllClaimAtOnce(t *testing.T) {
	at := serve(t)
	const hosts = 16
	var all []*cluster.Cluster
	for i := range hosts {
		all = append(all, open(t, dial(t, at), fmt.Sprintf("h%d", i), t.TempDir()))
	}
	n, err := all[0].CreateNetwork(wait(t), lan("web", "10.1.0.0/24"), nil)
	cell.Must(t, err)
	for _, c := range all {
		until(t, "all have the network", func() bool { return len(c.View().Networks) == 1 })
	}
	var group sync.WaitGroup
	got, errs := make([][2]netip.Prefix, hosts), make([]error, hosts)
	for i, c := range all {
		group.Go(func() {
			for j := range 2 {
				got[i][j], errs[i] = c.ClaimBlock(wait(t), n, n.Subnets[0], netip.Addr{})
			}
		})
	}
	group.Wait()
	seen := map[netip.Prefix]bool{}
	for i := range all {
		cell.Must(t, errs[i])
		for _, b := range got[i] {
			if seen[b] {
				t.Fatalf("two have %s", b)
			}
			seen[b] = true
		}
	}
	if _, err := all[0].ClaimBlock(wait(t), n, n.Subnets[0], netip.Addr{}); !errors.Is(err, heddle.PoolExhausted.Sentinel()) {
		t.Fatal(err)
	}
}

// held is a store whose events wait while its lock is held, and come at once then.
type held struct {
	store.Store
	*sync.RWMutex
}

func (s held) Watch(ctx context.Context, prefix string) <-chan store.Event {
	from, to := s.Store.Watch(ctx, prefix), make(chan store.Event, 64)
	go func() {
		defer close(to)
		for e := range from {
			all := []store.Event{e}
			s.RLock()
			for more := true; more; {
				select {
				case e, more = <-from:
					if more {
						all = append(all, e)
					}
				default:
					more = false
				}
			}
			s.RUnlock()
			for _, e := range all {
				to <- e
			}
		}
	}()
	return to
}

// TestMovesOn: an address that was sent on twice, before the first sender came to look, comes home.
func TestMovesOn(t *testing.T) {
	at := serve(t)
	slow := held{dial(t, at), &sync.RWMutex{}}
	a, b, c := open(t, dial(t, at), "a", t.TempDir()), open(t, slow, "b", t.TempDir()), open(t, dial(t, at), "c", t.TempDir())
	n, err := a.CreateNetwork(wait(t), lan("web", "10.1.0.0/24"), nil)
	cell.Must(t, err)
	until(t, "b has the network", func() bool { return len(b.View().Networks) == 1 })
	_, err = a.ClaimBlock(wait(t), n, n.Subnets[0], netip.Addr{})
	cell.Must(t, err)
	lender := newShop()
	go a.Serve(t.Context(), lender)
	p, id := netip.MustParseAddr("10.1.0.2"), heddle.EndpointID{Container: "box", IfName: "eth0"}
	until(t, "b knows a's block", func() bool { return len(b.View().BlocksOf(n.ID, a.View().Self.ID)) == 1 })
	cell.Must(t, b.Borrow(wait(t), n.ID, p, id))
	cell.Must(t, b.Send(wait(t), cluster.Move{Network: n.ID, Addr: p, Endpoint: id, To: "c"}))
	slow.Lock()
	until(t, "c knows of the move", func() bool { return len(c.View().Moves) == 1 })
	cell.Must(t, c.Borrow(wait(t), n.ID, p, id))
	cell.Must(t, c.Send(wait(t), cluster.Move{Network: n.ID, Addr: p, Endpoint: id, To: "a"}))
	until(t, "c's pin is gone, and b's is left", func() bool {
		v := a.View()
		return len(v.Pins) == 1 && v.Pins[0].Host == b.View().Self.ID
	})
	slow.Unlock()
	until(t, "it came home", func() bool { return len(a.View().Moves) == 1 && len(a.View().Lent) == 0 && lender.out() == 0 })
}

// crowded is a store into which somebody else writes before each call, so that its revision is
// never that of one of our keys.
type crowded struct {
	store.Store
	before func(store.Change)
}

func (s crowded) Commit(ctx context.Context, c store.Change) (bool, int64, error) {
	if s.before != nil {
		s.before(c)
	}
	if err := s.crowd(ctx); err != nil {
		return false, 0, err
	}
	return s.Store.Commit(ctx, c)
}

func (s crowded) Read(ctx context.Context, prefix string) (store.Snapshot, error) {
	if err := s.crowd(ctx); err != nil {
		return store.Snapshot{}, err
	}
	return s.Store.Read(ctx, prefix)
}

func (s crowded) crowd(ctx context.Context) error {
	_, _, err := s.Store.Commit(ctx, store.Change{Put: []store.Entry{{Key: "/other/x", Value: []byte("x")}}})
	return err
}

// TestSharedEtcd has somebody else write into the same etcd all the time: a host waits only for its
// own changes, also if one is refused.
func TestSharedEtcd(t *testing.T) {
	at := serve(t)
	b := open(t, dial(t, at), "b", t.TempDir())
	n, err := b.CreateNetwork(wait(t), lan("web", "10.1.0.0/24"), nil)
	cell.Must(t, err)
	var lost netip.Prefix
	var once sync.Once
	a := open(t, crowded{dial(t, at), func(c store.Change) {
		if len(c.Put) > 0 && strings.HasPrefix(c.Put[0].Key, cluster.Prefix+"blocks/") {
			once.Do(func() { // b is a little faster
				var err error
				lost, err = b.ClaimBlock(wait(t), n, n.Subnets[0], netip.Addr{})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}}, "a", t.TempDir())
	until(t, "a has the network", func() bool { return len(a.View().Networks) == 1 && len(a.View().Alive) == 2 })
	block, err := a.ClaimBlock(wait(t), n, n.Subnets[0], netip.Addr{})
	cell.Must(t, err)
	if !lost.IsValid() || block == lost {
		t.Fatalf("a has %s, b has %s", block, lost)
	}
	operator := crowded{Store: dial(t, at)}
	cell.Must(t, a.RemoveHost(wait(t), operator, "b", true))
	if v := a.View(); len(v.Peers) != 0 || len(v.Blocks) != 1 {
		t.Fatalf("after the removal: %+v, %+v", v.Peers, v.Blocks)
	}
	cell.Must(t, a.RemoveHost(wait(t), operator, "b", true)) // finishes the interrupted removal
}

func TestMoveToAHostInstalledAnew(t *testing.T) {
	at := serve(t)
	s := dial(t, at)
	a, b := open(t, s, "a", t.TempDir()), open(t, dial(t, at), "b", t.TempDir())
	n, err := a.CreateNetwork(wait(t), lan("web", "10.1.0.0/24"), nil)
	cell.Must(t, err)
	_, err = a.ClaimBlock(wait(t), n, n.Subnets[0], netip.Addr{})
	cell.Must(t, err)
	lender := newShop()
	go a.Serve(t.Context(), lender)
	until(t, "a sees b", func() bool { return len(a.View().Peers) == 1 })
	m := cluster.Move{Network: n.ID, Addr: netip.MustParseAddr("10.1.0.2"), Endpoint: heddle.EndpointID{Container: "box", IfName: "eth0"}, To: "b"}
	cell.Must(t, a.Send(wait(t), m))
	until(t, "b knows of the move", func() bool { return len(b.View().Moves) == 1 })
	cell.Must(t, a.RemoveHost(wait(t), s, "b", true))
	cell.Must(t, b.Close())
	b = open(t, dial(t, at), "b", t.TempDir())
	if v := b.View(); len(v.Moves) > 0 {
		t.Fatalf("the new host has the old one's move: %+v", v.Moves)
	}
	until(t, "the address is a's again", func() bool { return len(a.View().Lent) == 0 })
}

func TestWipedStore(t *testing.T) {
	at := serve(t)
	s := dial(t, at)
	a := open(t, s, "a", t.TempDir())
	n, err := a.CreateNetwork(wait(t), lan("web", "10.1.0.0/24"), nil)
	cell.Must(t, err)
	_, err = a.ClaimBlock(wait(t), n, n.Subnets[0], netip.Addr{})
	cell.Must(t, err)
	before := a.View()
	_, _, err = s.Commit(wait(t), store.Change{DeletePrefix: []string{cluster.Prefix}})
	cell.Must(t, err)
	until(t, "a sees that its cluster is gone", func() bool { return a.View().Strange != nil })
	v := a.View()
	if v.Removed || len(v.Networks) != 1 || len(v.Blocks) != 1 || v.Cluster != before.Cluster {
		t.Fatalf("%+v", v)
	}
	if _, err := a.ClaimBlock(wait(t), n, n.Subnets[0], netip.Addr{}); !errors.Is(err, heddle.StoreStrange.Sentinel()) {
		t.Fatal(err)
	}
	left, err := s.Read(wait(t), cluster.Prefix)
	cell.Must(t, err)
	if len(left.Entries) > 0 {
		t.Fatalf("made again: %+v", left.Entries)
	}
}

// TestOlderStore returns the store to its state before a claim, and before the host joined, as the
// restore of a backup does.
func TestOlderStore(t *testing.T) {
	at := serve(t)
	s := dial(t, at)
	dir := t.TempDir()
	b := open(t, dial(t, at), "b", t.TempDir())
	n, err := b.CreateNetwork(wait(t), lan("web", "10.1.0.0/24"), nil)
	cell.Must(t, err)
	before, err := s.Read(wait(t), cluster.Prefix)
	cell.Must(t, err)
	a := open(t, s, "a", dir)
	id := a.View().Self.ID
	backup, err := s.Read(wait(t), cluster.Prefix)
	cell.Must(t, err)
	block, err := a.ClaimBlock(wait(t), n, n.Subnets[0], netip.Addr{})
	cell.Must(t, err)
	cell.Must(t, a.YieldBlock(wait(t), n.ID, block)) // more revisions
	block, err = a.ClaimBlock(wait(t), n, n.Subnets[0], netip.Addr{})
	cell.Must(t, err)
	cell.Must(t, a.Close())
	for _, backup := range []store.Snapshot{backup, before} {
		other := dial(t, serve(t))
		restore(t, other, backup)
		a = open(t, other, "a", dir)
		until(t, "the block is claimed again", func() bool {
			got := a.View().BlocksOf(n.ID, id)
			return a.View().Revision > 0 && len(got) == 1 && got[0] == block
		})
		if v := a.View(); v.Removed || v.Self.ID != id {
			t.Fatalf("%+v", v)
		}
		cell.Must(t, a.Close())
	}
}

// restore writes what was read from a store into another one.
func restore(t *testing.T, s store.Store, backup store.Snapshot) {
	t.Helper()
	var change store.Change
	for _, e := range backup.Entries {
		change.Put = append(change.Put, store.Entry{Key: e.Key, Value: e.Value})
	}
	_, _, err := s.Commit(wait(t), change)
	cell.Must(t, err)
}

// advance has somebody else write into a store until it is past a revision.
func advance(t *testing.T, s store.Store, past int64) {
	t.Helper()
	for at := int64(0); at <= past; {
		var err error
		_, at, err = s.Commit(wait(t), store.Change{Put: []store.Entry{{Key: "/other/x", Value: []byte("x")}}})
		cell.Must(t, err)
	}
}

// TestOlderStoreUnderAgent returns the store of a running agent to an earlier state, at a later
// revision.
func TestOlderStoreUnderAgent(t *testing.T) {
	t.Run("before a claim", func(t *testing.T) { goBack(t, true) })
	t.Run("before the host came", func(t *testing.T) { goBack(t, false) })
}

func goBack(t *testing.T, known bool) {
	first, running := server(t, 0)
	s := dial(t, first)
	advance(t, s, 10)
	b := open(t, dial(t, first), "b", t.TempDir())
	n, err := b.CreateNetwork(wait(t), lan("web", "10.1.0.0/24"), nil)
	cell.Must(t, err)
	cell.Must(t, b.Close())
	backup, err := s.Read(wait(t), cluster.Prefix)
	cell.Must(t, err)
	access := dial(t, first)
	a := open(t, access, "a", t.TempDir())
	if known {
		backup, err = s.Read(wait(t), cluster.Prefix)
		cell.Must(t, err)
	}
	block, err := a.ClaimBlock(wait(t), n, n.Subnets[0], netip.Addr{})
	cell.Must(t, err)
	second := serve(t)
	other := dial(t, second)
	restore(t, other, backup)
	advance(t, other, a.View().Revision+10)
	access.(*store.Etcd).SetEndpoints([]string{second})
	cell.Must(t, running.Close())
	until(t, "a has claimed its block again", func() bool {
		s, err := other.Read(wait(t), cluster.Prefix+"blocks/")
		return err == nil && len(s.Entries) == 1
	})
	got, err := a.ClaimBlock(wait(t), n, n.Subnets[0], block.Addr())
	if v := a.View(); err != nil || got != block || v.Removed || v.Strange != nil {
		t.Fatalf("%s, %v: %+v", got, err, v)
	}
}

// underlayOf gives every host an address of its own.
func underlayOf(name string) netip.Addr {
	h := fnv.New32a()
	h.Write([]byte(name))
	sum := h.Sum32()
	return netip.AddrFrom4([4]byte{10, byte(sum >> 16), byte(sum >> 8), byte(sum)})
}
