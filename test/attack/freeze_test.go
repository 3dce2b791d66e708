package attack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/store"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// freezeAttacks have a host write what keeps the other hosts' agents busy. The control is
// a network that hosts take on, and an agent that does nothing else beside it.
func freezeAttacks() []ownAttack {
	record := func(name, modes string, write func(t *testing.T, s *freezer)) ownAttack {
		return ownAttack{class: "freeze", name: name, modes: modes, mount: func(t *testing.T, mode string, open bool) bool {
			s := newFreezer(t, mode)
			if open {
				s.stick(t, s.allowing(heddle.MaxAllow, false), true)
				return s.duties(t, freezeControl) > freezeControl
			}
			usual := s.duties(t, world.RepairTime)
			for range 2 { // a machine may be busy for a while
				write(t, s)
				if limit := usual + freezeMargin; s.duties(t, limit) <= limit {
					return false
				}
			}
			return true
		}}
	}
	return []ownAttack{
		record("a network that allows one other 50,000 times, for 0.3 s", "bridge routed overlay", func(t *testing.T, s *freezer) {
			cell.Must(t, s.flash(s.allowing(50_000, true), 300*time.Millisecond))
		}),
		record("a network that allows 500 others, for 0.3 s", "bridge", func(t *testing.T, s *freezer) {
			cell.Must(t, s.flash(s.allowing(500, false), 300*time.Millisecond))
		}),
		record("a network that comes and goes 50 times a second", "overlay", func(t *testing.T, s *freezer) {
			s.flap(t, s.allowing(heddle.MaxAllow, false))
		}),
		record("a network with which the kernel does not come to an end", "bridge routed overlay", func(t *testing.T, s *freezer) {
			s.stick(t, s.allowing(1, true), false)
		}),
	}
}

const (
	// freezeMargin is what an agent may be later than usual: less than the 18 s that 500
	// entries once took.
	freezeMargin = 8 * time.Second
	// freezeControl is how long a control waits, in which nothing is done at all.
	freezeControl = 3 * time.Second
)

// freezer is a host with a cluster's agent, a second host that is honest, and a third
// that writes what it likes. The host has a network of its own, with two containers,
// whose guard the attacker hopes to see unrepaired.
type freezer struct {
	*world.World
	first, second *cluster.Cluster
	raw           store.Store
	sly           *world.Pod
	// end ends what the attacker does; nil if nothing is under way.
	end func()
	// rounds counts how often the host did its duties.
	rounds int
}

// stop ends what the attacker does, once.
func (s *freezer) stop() {
	if end := s.end; end != nil {
		s.end = nil
		end()
	}
}

func newFreezer(t *testing.T, mode string) *freezer {
	t.Helper()
	s := &freezer{}
	at := storeInCell(t)
	s.first = s.member(t, at, "first")
	s.second, s.raw = s.member(t, at, "second"), dialStore(t, at)
	s.World = world.New(t, func(o *agent.Options) { o.Name, o.Cluster = "first", s.first })
	s.World.Network(t, "own", mode)
	s.sly = s.Pod(t, "sly", "own")
	s.Pod(t, "victim", "own")
	t.Cleanup(s.stop) // before the world, which could not end beside it
	return s
}

func storeInCell(t *testing.T) string {
	t.Helper()
	cell.Sh(t, "ip link set lo up")
	var at [2]netip.AddrPort
	for i := range at {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		at[i] = netip.MustParseAddrPort(l.Addr().String())
		l.Close()
	}
	server, err := store.StartServer(store.ServerOptions{Name: "a", Dir: t.TempDir(), Client: at[:1], Peer: at[1:]})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	select {
	case <-server.Ready():
	case <-time.After(world.RepairTime):
		t.Fatal("the store does not start")
	}
	return at[0].String()
}

func dialStore(t *testing.T, at string) store.Store {
	t.Helper()
	s, err := store.Dial(store.Options{Endpoints: []string{at}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// member opens the cluster as a host.
func (s *freezer) member(t *testing.T, at, name string) *cluster.Cluster {
	t.Helper()
	underlay := map[string]netip.Addr{"first": world.Host4, "second": world.Outside4}[name]
	c, err := cluster.Open(context.Background(), cluster.Options{Store: dialStore(t, at), StateDir: t.TempDir(), Wait: world.RepairTime,
		Self: heddle.Host{Name: name, Underlay: []netip.Addr{underlay}, MTU: 1400}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// allowing is a network that names others so many times, all different or all one.
func (s *freezer) allowing(times int, same bool) heddle.Network {
	n := heddle.Network{ID: "00000000000000ff", Name: "burden", Mode: "overlay", Subnets: []netip.Prefix{netip.MustParsePrefix("10.99.0.0/24")},
		Gateways: []netip.Addr{netip.MustParseAddr("10.99.0.1")}, Shared: true, Created: time.Now()}
	for i := range times {
		if same {
			i = 0
		}
		n.Allow = append(n.Allow, fmt.Sprintf("%016x", 0xabcd0000+i))
	}
	return n
}

// put writes a network's record past all that the cluster's hosts check.
func (s *freezer) put(n heddle.Network) error {
	text, err := json.Marshal(n)
	if err == nil {
		_, _, err = s.raw.Commit(context.Background(), store.Change{Put: []store.Entry{{Key: cluster.Prefix + "networks/" + n.Name, Value: text}}})
	}
	return err
}

func (s *freezer) drop(n heddle.Network) error {
	_, _, err := s.raw.Commit(context.Background(), store.Change{Delete: []string{cluster.Prefix + "networks/" + n.Name}})
	return err
}

// flash puts a network's record into the store, and takes it out again.
func (s *freezer) flash(n heddle.Network, after time.Duration) error {
	if err := s.put(n); err != nil {
		return err
	}
	time.Sleep(after)
	return s.drop(n)
}

// flap does so 50 times a second, until the test ends.
func (s *freezer) flap(t *testing.T, n heddle.Network) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() {
		var err error
		for i := 0; err == nil && ctx.Err() == nil; i++ {
			n.ID = fmt.Sprintf("%016x", 0xff00+i)
			err = s.flash(n, 10*time.Millisecond)
			time.Sleep(10 * time.Millisecond)
		}
		over <- err
	}()
	s.end = func() {
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
	}
}

// stick puts a network's record into the store, and has the kernel take for ever for
// what only this network wants and, if all wait for it, for everything from then on.
func (s *freezer) stick(t *testing.T, n heddle.Network, allWait bool) {
	t.Helper()
	release, own := make(chan struct{}), fmt.Sprintf("%#x", n.Group())
	var once sync.Once
	begun := make(chan struct{})
	s.TripAt(func(step string) error {
		waits := strings.Contains(step, own)
		if waits {
			once.Do(func() { close(begun) })
		}
		if allWait {
			select {
			case <-begun:
				waits = true
			default:
			}
		}
		if waits {
			<-release
		}
		return nil
	})
	s.end = func() {
		if !allWait && !within(world.RepairTime, func() bool {
			return slices.ContainsFunc(s.Status().Late, func(l heddle.Late) bool { return l.Network == n.Name && l.Waits == "the kernel" })
		}) {
			t.Errorf("the status does not tell what is late: %+v", s.Status().Late)
		}
		close(release)
		s.TripAt(nil)
		cell.Must(t, s.drop(n))
	}
	cell.Must(t, s.put(n))
	select {
	case <-begun:
	case <-time.After(world.RepairTime):
		t.Fatal("the network is not taken on at all")
	}
}

// calm reports whether the host has heard of the end of all networks but its own, and has
// nothing left to do about them.
func (s *freezer) calm() bool {
	heard := !slices.ContainsFunc(s.first.View().Networks, func(n heddle.Network) bool { return n.Name != "own" })
	found, err := s.Audit() // which waits for what is under way
	return heard && err == nil && len(found) == 0 && len(s.Networks()) == 1
}

// duties has the first host do what is its duty: put back a firewall that was flushed,
// attach a container, take on the next network. It returns when all was done, or that the
// time was over; what the attacker does is ended then.
func (s *freezer) duties(t *testing.T, limit time.Duration) time.Duration {
	t.Helper()
	ctx := context.Background()
	s.rounds++
	begin := time.Now()
	late := func(what string, done func() bool) bool {
		over := !within(limit-time.Since(begin), done) && !done()
		t.Logf("%s: %v, %v", what, time.Since(begin).Round(time.Millisecond), map[bool]string{true: "too late", false: "done"}[over])
		return over
	}
	guard := func() bool {
		out, err := cell.TrySh("nft list ruleset")
		return err == nil && strings.Contains(out, s.sly.Port()) && strings.Contains(out, "chain guard")
	}
	cell.Sh(t, "nft flush ruleset")
	attached := make(chan error, 1)
	req := s.Request(world.NewNetns(t, fmt.Sprint("next", s.rounds)), "own")
	go func() {
		_, err := s.Attach(ctx, req)
		attached <- err
	}()
	n, err := s.second.CreateNetwork(ctx, heddle.Network{ID: fmt.Sprintf("%016x", 0xaa00+s.rounds), Name: "after", Mode: "overlay", Subnets: []netip.Prefix{netip.MustParsePrefix("10.98.0.0/24")},
		Gateways: []netip.Addr{netip.MustParseAddr("10.98.0.1")}, Created: time.Now()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	frozen := late("the guard of this host's own network is back", guard)
	frozen = late("a container is attached", func() bool { return len(attached) > 0 }) || frozen
	frozen = late("the next network is taken on", func() bool { _, err := s.Agent.Network(n.Name); return err == nil }) || frozen
	took := time.Since(begin)
	s.stop()
	if err := <-attached; err != nil {
		t.Errorf("attach: %v", err)
	}
	if err := s.second.DeleteNetwork(ctx, n.ID); err != nil {
		t.Errorf("delete the next network: %v", err)
	}
	if !within(world.RepairTime, s.calm) {
		t.Error("a network that the cluster deleted stays")
	}
	if frozen {
		return max(took, limit+1)
	}
	return min(took, limit)
}
