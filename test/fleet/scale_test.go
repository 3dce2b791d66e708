package fleet_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// TestScale attaches endpoints on many hosts at once, and measures how long it
// takes until a new one is reached from every host. It prints what a host's kernel
// holds for it: that grows with hosts and blocks, not with endpoints.
func TestScale(t *testing.T) {
	soak.Turn(t, 2)
	scale(t, 5, 4, 10, time.Minute)
}

// TestSoakScale is TestScale at full size.
func TestSoakScale(t *testing.T) {
	soak.Need(t, "32 hosts with 30 endpoints each")
	roomForNeighbours(t)
	scale(t, 32, 30, 100, 200*time.Millisecond)
}

// roomForNeighbours enlarges the machine's neighbour tables until the test's end. All
// network namespaces share them, and 32 hosts that know each other fill 992 of 1024; only
// the machine's first namespace, which is the parent's, has the settings.
func roomForNeighbours(t *testing.T) {
	for _, family := range []string{"ipv4", "ipv6"} {
		name := "net." + family + ".neigh.default.gc_thresh3"
		before := strings.TrimSpace(world.Netns{}.Sh(t, "nsenter -t %d -n sysctl -n %s", os.Getppid(), name))
		world.Netns{}.Sh(t, "nsenter -t %d -n sysctl -w %s=16384", os.Getppid(), name)
		t.Cleanup(func() { world.Netns{}.Sh(t, "nsenter -t %d -n sysctl -w %s=%s", os.Getppid(), name, before) })
	}
}

// scale fails if more than one of a hundred new endpoints is reached later than the
// limit.
func scale(t *testing.T, hosts, each, probes int, limit time.Duration) {
	began := time.Now()
	f := newCluster(t, hosts)
	t.Logf("%d hosts are a cluster after %s", hosts, time.Since(began))
	f.network(t, "app", "10.10.0.0/16", "fd10::/64")
	began = time.Now()
	var mu sync.Mutex
	var pods []*pod
	f.parallel(func(h *host) {
		for i := range each {
			p, err := h.tryAttach(fmt.Sprint("p", i), "app")
			if err != nil {
				t.Errorf("attach on %s: %v", h.Host.Name, err)
				return
			}
			mu.Lock()
			pods = append(pods, p)
			mu.Unlock()
		}
	})
	t.Logf("%d endpoints after %s", len(pods), time.Since(began))
	noTwins(t, pods)
	small := f.hosts[0].state(t)
	var took []time.Duration
	for i := range probes {
		h := f.hosts[i%hosts]
		p := h.attach(t, fmt.Sprint("new", i), "app")
		at := time.Now()
		for _, other := range f.hosts {
			reached(t, other.Netns, p.addrs()[i%2])
		}
		took = append(took, time.Since(at))
		p.detach(t)
	}
	slices.Sort(took)
	t.Logf("a new endpoint was reached from all %d hosts: median %s, p99 %s, at most %s after its attach",
		hosts, took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
	if p99 := took[len(took)*99/100]; p99 > limit {
		t.Errorf("the p99 of %s is more than %s", p99, limit)
	}
	t.Logf("state of one host: %s", small)
	f.parallel(func(h *host) {
		for i := range each {
			if out, err := h.tryCLI(t, "detach", fmt.Sprint("p", i)); err != nil {
				t.Errorf("detach on %s: %v %s", h.Host.Name, err, out)
			}
		}
	})
}

// noTwins fails if two endpoints have one address.
func noTwins(t *testing.T, pods []*pod) {
	t.Helper()
	who := map[netip.Addr]string{}
	for _, p := range pods {
		for _, a := range p.addrs() {
			if other := who[a]; other != "" {
				t.Errorf("%s is %s's and %s's", a, p.ID, other)
			}
			who[a] = p.ID.String() + " on " + p.on.Host.Name
		}
	}
}

// reached waits until a connection to a closed port is refused, which takes a
// packet there and one back.
func reached(t *testing.T, from world.Netns, to netip.Addr) {
	t.Helper()
	world.Within(t, time.Minute, from.Name+" reaches "+to.String(), func() error {
		c, err := from.Dial("tcp", netip.AddrPort{}, netip.AddrPortFrom(to, 9), 100*time.Millisecond)
		if err == nil {
			return c.Close()
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			return nil
		}
		return err
	})
}

// state counts what a host's kernel holds of ours.
func (h *host) state(t *testing.T) string {
	t.Helper()
	var out []string
	for _, x := range []struct{ what, command string }{
		{"IPv4 routes", "ip -4 route show proto 104"}, {"IPv6 routes", "ip -6 route show proto 104"},
		{"neighbours on tunnels", "ip neigh show nud permanent | grep ' dev hv'"},
		{"forwarding entries", "bridge fdb show | grep 'dev hv'"}, {"links", "ip -o link show | grep -E ': h[a-z]'"},
	} {
		lines := h.Sh(t, "{ %s; } | wc -l", x.command)
		out = append(out, strings.TrimSpace(lines)+" "+x.what)
	}
	return strings.Join(out, ", ")
}
