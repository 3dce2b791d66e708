package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// TestCreateOnce is the story of a user: a network made on one host is on all,
// containers anywhere reach each other and the outside, networks are apart unless
// joined, and nothing is left at the end.
func TestCreateOnce(t *testing.T) {
	f := newCluster(t, 3)
	began := time.Now()
	f.network(t, "app", "10.10.0.0/24", "fd10::/64")
	f.network(t, "other", "10.11.0.0/24", "fd11::/64")
	t.Logf("two networks on 3 hosts in %s", time.Since(began))
	var pods []*pod
	for i, h := range f.hosts {
		for n := range 2 {
			pods = append(pods, h.attach(t, fmt.Sprintf("app%d%d", i+1, n), "app"))
		}
	}
	meet(t, pods)
	t.Run("host to container", func(t *testing.T) { f.hosts[0].Reaches(t, pods[4].addrs()...) })
	t.Run("isolated", func(t *testing.T) {
		stranger := f.hosts[1].attach(t, "stranger", "other")
		stranger.Silent(t, append(pods[0].addrs(), pods[2].addrs()...)...)
		pods[0].Silent(t, stranger.addrs()...)
		f.hosts[2].cli(t, "network", "allow", "app", "other")
		stranger.finds(t, append(pods[0].addrs(), pods[2].addrs()...)...)
		pods[4].finds(t, stranger.addrs()...)
		stranger.detach(t)
	})
	t.Run("published", func(t *testing.T) {
		web := f.hosts[1].attach(t, "web", "app", world.Publish("8080:80/tcp"), world.Publish("8080:80/udp"))
		for _, a := range web.addrs() {
			web.Serve(t, 80, a)
		}
		h := f.hosts[1]
		for _, client := range []world.Netns{f.hosts[0].Netns, f.hosts[2].Netns, pods[0].Netns, pods[2].Netns} {
			client.Gets(t, "web", 8080, h.Addr4)
		}
		web.detach(t)
	})
	t.Run("just made", func(t *testing.T) {
		for i := range 3 {
			name := fmt.Sprint("new", i)
			f.hosts[0].cli(t, "network", "create", name, "--mode", "overlay")
			p := f.hosts[2].attach(t, "early", name)
			p.detach(t)
			f.hosts[0].deleted(t, name)
		}
		_, err := f.hosts[2].tryAttach("early", "nobody")
		if heddle.NoNetwork.In(err) == nil {
			t.Errorf("a network that nobody has made: %v", err)
		}
	})
	t.Run("outside", func(t *testing.T) { pods[0].Reaches(t, f.lab.Switches[0].Addr4) })
	if out, err := f.hosts[0].tryCLI(t, "network", "delete", "app"); err == nil || !strings.Contains(out, "HDL-2006") {
		t.Errorf("delete of a network in use: %v\n%s", err, out)
	}
	for _, p := range pods[2:] {
		p.detach(t)
	}
	if out, err := f.hosts[2].tryCLI(t, "network", "delete", "app"); err == nil || !strings.Contains(out, "host1") {
		t.Errorf("delete of a network that host1 uses: %v\n%s", err, out)
	}
	pods[0].detach(t)
	pods[1].detach(t)
	f.hosts[2].deleted(t, "app")
	f.hosts[1].deleted(t, "other")
	f.everywhere(t, "no network is left", func(h *host) error {
		all, err := h.Networks(context.Background())
		if err == nil && len(all) > 0 {
			err = fmt.Errorf("%d left", len(all))
		}
		return err
	})
	f.everywhere(t, "nothing of ours is left", func(h *host) error {
		out, err := h.TrySh("{ ip -o link | grep -E ': h[bdsvm][0-9a-f]'; ip route show table all proto 104; ip -6 route show table all proto 104; nft list tables | grep heddle; } || true")
		if err == nil && strings.TrimSpace(out) != "" {
			err = errors.New(out)
		}
		return err
	})
}

// TestAddresses asks for addresses that are another host's to give, and moves
// endpoints with theirs.
func TestAddresses(t *testing.T) {
	f := newCluster(t, 3)
	f.network(t, "app", "10.10.0.0/24", "fd10::/64")
	first := f.hosts[0].attach(t, "first", "app")
	second := f.hosts[1].attach(t, "second", "app")
	near := first.addrs()[0].Next().Next()
	fixed := f.hosts[1].attach(t, "fixed", "app", world.IP(near.String()))
	for _, p := range []*pod{first, second} {
		p.finds(t, fixed.addrs()...)
	}
	if _, err := f.hosts[2].tryAttach("thief", "app", world.IP(near.String())); err == nil || !strings.Contains(err.Error(), "HDL-2007") {
		t.Errorf("an address that is taken: %v", err)
	}
	if _, err := f.hosts[0].tryAttach("owner", "app", world.IP(near.String())); err == nil {
		t.Error("the owner of the block gave out an address that it had lent")
	}
	fixed.detach(t)
	world.Within(t, 3*time.Minute, "the address is back", func() error {
		p, err := f.hosts[2].tryAttach("next", "app", world.IP(near.String()))
		if err == nil {
			first.finds(t, p.addrs()...)
			p.detach(t)
		}
		return err
	})
	t.Run("move", func(t *testing.T) {
		f.hosts[1].cli(t, "endpoint", "move", "second", "--to", "host3")
		moved := f.hosts[2].attach(t, "second", "app")
		began := time.Now()
		if fmt.Sprint(moved.addrs()) != fmt.Sprint(second.addrs()) || moved.MAC != second.MAC {
			t.Errorf("before %v %s, after %v %s", second.addrs(), second.MAC, moved.addrs(), moved.MAC)
		}
		first.finds(t, moved.addrs()...)
		t.Logf("reached %s after its attach", time.Since(began))
		for _, a := range moved.addrs() {
			world.Within(t, time.Minute, "the host that it left reaches it", func() error { return f.hosts[1].Netns.Ping(a, "-W1") })
		}
		t.Logf("and from the host that it left after %s", time.Since(began))
		moved.detach(t)
	})
}

// TestSoakMove moves an endpoint to and fro, which is reached from the third host
// within 300 ms of each attach: a limit that a quiet machine keeps.
func TestSoakMove(t *testing.T) {
	soak.Need(t, "has a limit of time for a quiet machine")
	f := newCluster(t, 3)
	f.network(t, "app", "10.10.0.0/24", "fd10::/64")
	watcher, moved := f.hosts[0].attach(t, "watcher", "app"), f.hosts[1].attach(t, "moved", "app")
	var longest time.Duration
	for round := range 40 {
		from, to := f.hosts[1+round%2], f.hosts[2-round%2]
		from.cli(t, "endpoint", "move", "moved", "--to", to.Host.Name)
		moved = to.attach(t, "moved", "app")
		for _, a := range moved.addrs() {
			longest = max(longest, world.Within(t, 300*time.Millisecond, "the endpoint is reached where it is now", func() error { return watcher.Ping(a, "-W1") }))
		}
	}
	t.Logf("reached at most %s after its attach, of 40", longest)
	watcher.detach(t)
	moved.detach(t)
}

// TestMigrate gives a host a store that has a network with endpoints already.
func TestMigrate(t *testing.T) {
	f := newFleet(t, 2)
	f.hosts[0].start(t, "--underlay", "eth0")
	f.hosts[0].cli(t, "network", "create", "app", "--mode", "overlay", "--subnet", "10.10.0.0/24", "--subnet", "fd10::/64")
	old := f.hosts[0].attach(t, "old", "app", world.IP("10.10.0.200"))
	friend := f.hosts[0].attach(t, "friend", "app")
	old.Reaches(t, friend.addrs()...)
	f.hosts[0].kill(t)
	f.hosts[0].start(t, "--store", "embedded", "--underlay", "eth0")
	f.join(t, f.hosts[1])
	f.everywhere(t, "network app is there", func(h *host) error {
		n, err := h.Network(context.Background(), "app")
		if err == nil && !n.Shared {
			err = fmt.Errorf("it is of this host alone")
		}
		return err
	})
	far := f.hosts[1].attach(t, "far", "app")
	for _, p := range []*pod{old, friend} {
		p.finds(t, far.addrs()...)
		far.finds(t, p.addrs()...)
	}
	if _, err := f.hosts[1].tryAttach("thief", "app", world.IP("10.10.0.200")); err == nil {
		t.Error("an address of the time before the store was given out twice")
	}
}
