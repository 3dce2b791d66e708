package kernel

import (
	"context"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/mode/routed"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
)

// The facts leave out our own interfaces, and have the best uplink first.
func TestFacts(t *testing.T) {
	r := newRoom(t)
	s := scenarios(t)[0]
	r.sh(`ip link add wan0 mtu 1400 address 02:00:00:00:00:0a type veth peer name x0
ip link add lan0 address 02:00:00:00:00:0b type veth peer name x1
for i in wan0 lan0 x0 x1; do ip link set $i addrgenmode none; ip link set $i up; done
ip address add 192.0.2.2/24 dev wan0
ip address add 198.51.100.2/24 dev lan0
ip address add 2001:db8::2/64 dev wan0 nodad
ip route add default via 198.51.100.1 dev lan0 metric 200
ip route add default metric 100 nexthop via 192.0.2.1 dev wan0 nexthop via 192.0.2.3 dev wan0
ip -6 route add default via 2001:db8::1 dev wan0 proto ra
ip route add default via 198.51.100.9 dev lan0 table 7
`)
	r.apply(s.netPlan)
	f, err := r.k.Facts()
	cell.Must(t, err)
	if f.Name == "" || len(f.BootID) != 36 || f.Kernel == "" {
		t.Errorf("%+v", f)
	}
	want := []heddle.LinkFact{
		{Name: "wan0", MTU: 1400, MAC: "02:00:00:00:00:0a", Up: true, Addrs: prefixes("192.0.2.2/24", "2001:db8::2/64"), Gateways: addrs("192.0.2.1", "192.0.2.3", "2001:db8::1"), Advertised: true},
		{Name: "lan0", MTU: 1500, MAC: "02:00:00:00:00:0b", Up: true, Addrs: prefixes("198.51.100.2/24"), Gateways: addrs("198.51.100.1")},
	}
	if d := cmp.Diff(want, f.Links[:2], cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); d != "" {
		t.Error(d)
	}
	if slices.ContainsFunc(f.Links, func(l heddle.LinkFact) bool { return prefixed(l.Name) }) {
		t.Errorf("ours are among %v", f.Links)
	}
	r.makePorts(20)
	beside, err := r.k.Facts()
	cell.Must(t, err)
	if d := cmp.Diff(f.Links, beside.Links, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); d != "" {
		t.Errorf("beside ports, the other interfaces are others: %s", d)
	}
}

func prefixes(all ...string) (out []netip.Prefix) {
	for _, s := range all {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

func addrs(all ...string) (out []netip.Addr) {
	for _, s := range all {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}

// Watch signals changes that concern us, and no others.
func TestWatch(t *testing.T) {
	r := newRoom(t)
	r.sh(uplinkScript)
	s := newScenario(t, "routed", routed.Mode{}, nil, 0)
	plan := s.endpoint(0)
	port := plan.Host.Links[0].Name
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	changed, err := r.k.Watch(ctx)
	cell.Must(t, err)
	const pause = 200 * time.Millisecond
	// signalled waits for a first signal up to the limit, and then for the end of all signals
	signalled := func(limit time.Duration) (greatest Change) {
		for {
			select {
			case c := <-changed:
				greatest, limit = max(greatest, c), pause
			case <-time.After(limit):
				return greatest
			}
		}
	}
	r.apply(s.netPlan)
	r.apply(plan)
	if signalled(10*time.Second) == 0 {
		t.Error("not told of what was made")
	}
	for range 15 { // carriers settle
		if signalled(2*time.Second) == 0 {
			break
		}
	}
	for _, script := range []string{
		"ip link set " + port + " down", "ip route del unreachable 10.20.0.0/16 metric 4294967295", "ip address del 10.20.0.1/32 dev " + port,
		"ip neigh add 10.20.0.9 lladdr 02:00:00:00:00:09 nud permanent dev " + port, "nft flush ruleset", "nft add table inet heddle",
		"sysctl -qw net/ipv4/ip_forward=0", "ip rule add priority 27000 lookup 9 protocol 104",
	} {
		r.sh(script)
		if told := signalled(10 * time.Second); told == 0 || (told == Tables) != strings.HasPrefix(script, "nft ") {
			t.Errorf("told %d of: %s", told, script)
		}
	}
	for _, script := range []string{"ip route add 192.0.2.0/24 dev up0", "nft add table inet other; nft add chain inet other x", "ip rule add priority 27001 lookup 9",
		"ip link add other0 type veth peer name other1", "ip neigh add 198.51.100.9 lladdr 02:00:00:00:00:09 nud stale dev up0",
		"ip neigh del 198.51.100.9 dev up0", "ip neigh add 198.51.100.8 lladdr 02:00:00:00:00:08 nud permanent dev up0; ip neigh del 198.51.100.8 dev up0",
		"ip address add 198.51.100.77/32 dev up0; ip address del 198.51.100.77/32 dev up0"} {
		if r.sh(script); signalled(pause) != 0 {
			t.Errorf("told of: %s", script)
		}
	}
	cancel()
	if _, err := poll.Until(30*time.Second, 10*time.Millisecond, poll.True(func() bool { return runtime.NumGoroutine() <= before })); err != nil {
		t.Errorf("%d goroutines, before %d", runtime.NumGoroutine(), before)
	}
}

// Drops adds up the counters of both tables.
func TestDrops(t *testing.T) {
	r := newRoom(t)
	if d, err := r.k.Drops(); err != nil || len(d) != 0 {
		t.Error(d, err)
	}
	r.apply(heddle.Plan{Host: heddle.State{Firewall: firewall.Base()}})
	r.sh(`for f in inet bridge; do nft delete table $f heddle; nft add table $f heddle; nft add counter $f heddle spoofed-ip '{ packets 20 bytes 1; }'; done
nft add counter inet heddle isolated '{ packets 3 bytes 1; }'`)
	d, err := r.k.Drops()
	cell.Must(t, err)
	if want := (map[string]uint64{"spoofed-ip": 40, "isolated": 3}); !cmp.Equal(want, d) {
		t.Error(d)
	}
}

// Many endpoints may be attached, compared and removed at the same time.
func TestAtTheSameTime(t *testing.T) {
	for _, s := range scenarios(t)[:1] {
		r := newRoom(t)
		r.apply(s.netPlan)
		// the objects that a published port needs on the bridge are shared with others, and are
		// removed with it
		shared := func(key string) bool { return contains(s.netPlan, key) || strings.HasSuffix(key, "/route_localnet") }
		var group sync.WaitGroup
		for worker := range 8 {
			c := newRoomOn(r)
			group.Go(func() {
				for i := range 10 {
					plan := s.endpoint(worker*100 + i)
					if err := c.comeAndGo(plan, shared); err != nil {
						t.Errorf("endpoint %d of worker %d: %v", i, worker, err)
					}
				}
			})
		}
		group.Wait()
		r.clean(s.netPlan)
		cell.Must(t, r.k.Remove(s.netPlan, nil, nil))
		r.nothingOwned()
	}
}

func (r *room) comeAndGo(p heddle.Plan, shared func(string) bool) error {
	if _, err := r.k.Apply(p, r.podNS); err != nil {
		return err
	}
	if diff, err := r.k.Diff(p, r.podNS); err != nil || len(diff) > 0 {
		return fmt.Errorf("%v, %w", diff, err)
	}
	return r.k.Remove(p, r.podNS, shared)
}
