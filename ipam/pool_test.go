package ipam_test

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/ipam"
)

func id(container string) heddle.EndpointID {
	return heddle.EndpointID{Container: container, IfName: "eth0"}
}

func checked(t testing.TB, text string) heddle.Network {
	t.Helper()
	n, err := ipam.Check(network(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// take returns the lease as text, or the id of the error.
func take(p *ipam.Pool, container, want string) string {
	lease, err := p.Take(id(container), addrs(want))
	return outcome(lease, err)
}

func outcome(lease []netip.Prefix, err error) string {
	var known *heddle.Error
	if errors.As(err, &known) {
		return string(known.Code)
	}
	return strings.Trim(fmt.Sprint(lease), "[]")
}

func expect(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTake(t *testing.T) {
	p := ipam.NewPool(checked(t, "10.0.0.0/24,fd20::/64|||10.0.0.3,fd20::2"))
	expect(t, take(p, "a", ""), "10.0.0.2/24 fd20::3/64")
	expect(t, take(p, "b", ""), "10.0.0.4/24 fd20::4/64")
	expect(t, take(p, "a", ""), "10.0.0.2/24 fd20::3/64")
	expect(t, take(p, "c", "fd20::ff,10.0.0.5"), "10.0.0.5/24 fd20::ff/64")
	expect(t, take(p, "d", "10.0.0.3"), "10.0.0.3/24 fd20::5/64")
	expect(t, take(p, "e", ""), "10.0.0.6/24 fd20::6/64")
}

func TestTakeRefuses(t *testing.T) {
	p := ipam.NewPool(checked(t, "10.0.0.0/24,fd20::/64"))
	take(p, "a", "10.0.0.9")
	for want, code := range map[string]heddle.Code{
		"10.0.0.0":           heddle.AddressTaken,
		"10.0.0.1":           heddle.AddressTaken,
		"10.0.0.255":         heddle.AddressTaken,
		"10.0.0.9":           heddle.AddressTaken,
		"fd20::":             heddle.AddressTaken,
		"10.0.1.1":           heddle.OutsidePool,
		"fd21::1":            heddle.OutsidePool,
		"nonsense":           heddle.BadAddress,
		"fd20::5%eth0":       heddle.BadAddress,
		"::ffff:10.0.0.7":    heddle.BadAddress,
		"10.0.0.7,10.0.0.8":  heddle.BadAddress,
		"10.0.0.7,fd20::1":   heddle.AddressTaken,
		"fd20::7,10.0.0.255": heddle.AddressTaken,
	} {
		expect(t, take(p, "b", want), string(code))
	}
	expect(t, take(p, "b", "10.0.0.7,fd20::7"), "10.0.0.7/24 fd20::7/64")
	_, err := p.Take(id("c"), addrs("10.0.0.9"))
	if err == nil || !strings.Contains(err.Error(), "endpoint a/eth0 has it") {
		t.Errorf("%v does not name the holder", err)
	}
	four := ipam.NewPool(checked(t, "10.0.0.0/24"))
	expect(t, take(four, "a", "fd20::7"), string(heddle.BadAddress))
}

// One family without an address leaves the other one as it was.
func TestAllOrNothing(t *testing.T) {
	p := ipam.NewPool(checked(t, "10.0.0.0/24,fd20::/64||fd20::4/127"))
	take(p, "a", "")
	take(p, "b", "")
	_, err := p.Take(id("c"), nil)
	if !errors.Is(err, heddle.PoolExhausted.Sentinel()) || !strings.Contains(err.Error(), "2 of 2") {
		t.Errorf("got %v, want %s with the numbers", err, heddle.PoolExhausted)
	}
	if s := p.Stats(); s[0].Used != 2 || s[1].Used != 2 || len(p.Held()) != 2 {
		t.Errorf("after a refusal: %+v, %v", s, p.Held())
	}
	p.Give(id("a"))
	expect(t, take(p, "c", ""), "10.0.0.4/24 fd20::4/64")
}

func TestReuseIsOldestFirst(t *testing.T) {
	now := time.Unix(1000, 0)
	p := ipam.NewPool(checked(t, "10.0.0.0/29"), ipam.WithClock(func() time.Time { return now }))
	for _, c := range []string{"a", "b", "c", "d"} {
		take(p, c, "")
	}
	for _, c := range []string{"b", "a"} {
		p.Give(id(c))
		now = now.Add(ipam.Quarantine / 2)
	}
	want := []ipam.Stats{{Family: heddle.IPv4, Size: 5, Used: 2, Quarantined: 1, Free: 2}}
	if got := p.Stats(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	expect(t, take(p, "e", ""), "10.0.0.6/29")
	expect(t, take(p, "f", ""), "10.0.0.3/29")
	expect(t, take(p, "g", ""), "10.0.0.2/29")
	expect(t, take(p, "h", ""), string(heddle.PoolExhausted))
}

// What is freed after the clock was set back does not end quarantine earlier
// than what was freed before.
func TestClockSetBack(t *testing.T) {
	now := time.Unix(1000, 0)
	p := ipam.NewPool(checked(t, "10.0.0.0/29"), ipam.WithClock(func() time.Time { return now }))
	take(p, "a", "")
	take(p, "b", "")
	p.Give(id("b"))
	now = now.Add(-ipam.Quarantine / 2)
	p.Give(id("a"))
	now = now.Add(ipam.Quarantine + time.Second)
	if got := p.Stats()[0].Quarantined; got != 2 {
		t.Errorf("%d are in quarantine, want 2", got)
	}
}

func TestQuarantineIsNoBarToRequests(t *testing.T) {
	p := ipam.NewPool(checked(t, "10.0.0.0/29"), ipam.WithQuarantine(time.Hour))
	take(p, "a", "")
	if got := fmt.Sprint(p.Give(id("a"))); got != "[10.0.0.2]" {
		t.Errorf("freed %s", got)
	}
	if got := p.Give(id("a")); got != nil {
		t.Errorf("freed %v twice", got)
	}
	expect(t, take(p, "b", "10.0.0.2"), "10.0.0.2/29")
}

func TestRanges(t *testing.T) {
	p := ipam.NewPool(checked(t, "10.0.0.0/24||10.0.0.128/31,10.0.0.0/30|10.0.0.128"))
	expect(t, take(p, "a", ""), "10.0.0.129/24")
	expect(t, take(p, "b", "10.0.0.77"), "10.0.0.77/24")
	want := []ipam.Stats{{Family: heddle.IPv4, Size: 3, Used: 1, Free: 2, Aside: 1}}
	if got := p.Stats(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	p.Give(id("b"))
	expect(t, take(p, "c", ""), "10.0.0.2/24")
	expect(t, take(p, "d", ""), "10.0.0.3/24")
	expect(t, take(p, "e", ""), string(heddle.PoolExhausted))
}

func TestRestart(t *testing.T) {
	now := time.Unix(1000, 0)
	n := checked(t, "10.0.0.0/29")
	p := ipam.NewPool(n, ipam.WithClock(func() time.Time { return now }))
	if err := p.Restore(id("a"), prefixes("10.0.0.5/29")); err != nil {
		t.Fatal(err)
	}
	p.RestoreQuarantine(netip.MustParseAddr("10.0.0.6"), now.Add(time.Hour))
	p.RestoreQuarantine(netip.MustParseAddr("10.0.0.3"), now.Add(-time.Second))
	p.RestoreQuarantine(netip.MustParseAddr("10.0.0.5"), now)
	p.RestoreQuarantine(netip.MustParseAddr("10.0.0.1"), now)
	p.RestoreQuarantine(netip.MustParseAddr("fd20::1"), now)
	p.SetCursor(map[heddle.Family]netip.Addr{heddle.IPv4: netip.MustParseAddr("10.0.0.4"), heddle.IPv6: netip.MustParseAddr("fd20::1")})
	for i, want := range []string{"10.0.0.4/29", "10.0.0.2/29", "10.0.0.3/29", "10.0.0.6/29", string(heddle.PoolExhausted)} {
		expect(t, take(p, fmt.Sprint("n", i), ""), want)
	}
	expect(t, p.Cursor()[heddle.IPv4].String(), "10.0.0.4")
}

func TestRestore(t *testing.T) {
	p := ipam.NewPool(checked(t, "10.0.0.0/24,fd20::/64||10.0.0.128/25|10.0.0.9"))
	for _, c := range []struct{ container, addrs, want string }{
		{"a", "10.0.0.9/24,fd20::9/64", ""},
		{"a", "10.0.0.9/24,fd20::9/64", ""},
		{"a", "10.0.0.8/24", string(heddle.EndpointDiffers)},
		{"b", "10.0.0.9/24", string(heddle.AddressTaken)},
		{"b", "10.0.0.1/24", string(heddle.AddressTaken)},
		{"b", "10.1.0.1/24", string(heddle.OutsidePool)},
		{"b", "nonsense", string(heddle.BadAddress)},
		{"b", "fd20::8/128", ""},
	} {
		expect(t, outcome(nil, p.Restore(id(c.container), prefixes(c.addrs))), c.want)
	}
	expect(t, fmt.Sprint(p.Held()), "map[a/eth0:[10.0.0.9/24 fd20::9/64] b/eth0:[fd20::8/64]]")
}

func TestNoSubnets(t *testing.T) {
	p := ipam.NewPool(checked(t, ""))
	expect(t, take(p, "a", ""), "")
	expect(t, take(p, "b", "10.0.0.1"), string(heddle.BadAddress))
	if len(p.Held()) != 1 || p.Give(id("a")) != nil || len(p.Stats()) != 0 || len(p.Held()) != 0 {
		t.Errorf("%v, %v", p.Held(), p.Stats())
	}
}

func TestLargeSubnets(t *testing.T) {
	for subnet, size := range map[string]uint64{
		"10.0.0.0/8": 1<<24 - 3,
		"fd20::/65":  1<<63 - 2,
		"fd20::/64":  math.MaxUint64,
		"fd00::/8":   math.MaxUint64,
	} {
		p := ipam.NewPool(checked(t, subnet))
		take(p, "a", "")
		p.Give(id("a"))
		if s := p.Stats()[0]; s.Size != size || s.Quarantined != 1 || s.Free < size-1 {
			t.Errorf("%s has %+v", subnet, s)
		}
	}
}

func TestLeasesAreCopies(t *testing.T) {
	p := ipam.NewPool(checked(t, "10.0.0.0/24"))
	lease, _ := p.Take(id("a"), nil)
	lease[0] = netip.Prefix{}
	p.Held()[id("a")][0] = netip.Prefix{}
	expect(t, take(p, "a", ""), "10.0.0.2/24")
}

func TestParallel(t *testing.T) {
	p := ipam.NewPool(checked(t, "10.0.0.0/22,fd20::/64"))
	var owners sync.Map
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() { churn(t, p, &owners, g) })
	}
	group.Wait()
	for _, s := range p.Stats() {
		if s.Used != 0 || s.Aside != 0 {
			t.Errorf("all was given, yet %+v", s)
		}
	}
	for i := range 1021 {
		if _, err := p.Take(id(fmt.Sprint("last", i)), nil); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, take(p, "more", ""), string(heddle.PoolExhausted))
}

// churn keeps up to 127 leases, so that eight at once nearly fill a /22, and
// reports an address that somebody else has too.
func churn(t *testing.T, p *ipam.Pool, owners *sync.Map, g int) {
	var mine [][]netip.Prefix
	for i := range 2000 {
		if len(mine) == 127 {
			give(p, owners, fmt.Sprintf("g%d-%d", g, i-127), mine[0])
			mine = mine[1:]
		}
		lease, err := p.Take(id(fmt.Sprintf("g%d-%d", g, i)), nil)
		if err != nil {
			t.Error(err)
			return
		}
		for _, a := range lease {
			if owner, taken := owners.LoadOrStore(a.Addr(), g); taken {
				t.Errorf("%s belongs to %v and to %v", a, owner, g)
			}
		}
		mine = append(mine, lease)
		if i%100 == 0 {
			p.Cursor()
			p.Stats()
		}
	}
	for i, lease := range mine {
		give(p, owners, fmt.Sprintf("g%d-%d", g, 2000-127+i), lease)
	}
}

func give(p *ipam.Pool, owners *sync.Map, container string, lease []netip.Prefix) {
	for _, a := range lease {
		owners.Delete(a.Addr())
	}
	p.Give(id(container))
}
