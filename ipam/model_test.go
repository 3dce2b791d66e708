package ipam_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/ipam"
	"pgregory.net/rapid"
)

const rest = 10 * time.Second

// machine runs a pool and the oracle side by side.
type machine struct {
	network heddle.Network
	pool    *ipam.Pool
	oracle  *oracle
}

func TestAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		t.Repeat(map[string]func(*rapid.T){
			"take":    func(t *rapid.T) { m.take(t, drawID(t), nil) },
			"request": m.request,
			"give":    func(t *rapid.T) { m.give(t, drawID(t)) },
			"wait":    m.wait,
			"restart": m.restart,
			"":        m.compare,
		})
		m.drain(t)
	})
}

func newMachine(t *rapid.T) *machine {
	n := drawNetwork(t)
	m := &machine{network: n, oracle: newOracle(n, time.Unix(100000, 0))}
	m.pool = m.newPool()
	return m
}

func (m *machine) newPool() *ipam.Pool {
	return ipam.NewPool(m.network, ipam.WithQuarantine(rest), ipam.WithClock(func() time.Time { return m.oracle.now }))
}

func drawID(t *rapid.T) heddle.EndpointID {
	return id(fmt.Sprint("c", rapid.IntRange(0, 19).Draw(t, "container")))
}

func drawNetwork(t *rapid.T) heddle.Network {
	subnets := rapid.SampledFrom([]string{"10.0.0.16/28", "fd20::10/124", "10.0.0.16/28,fd20::10/124", "fd20::10/124,10.0.0.16/30"}).Draw(t, "subnets")
	n := network(subnets)
	for _, s := range n.Subnets {
		inside := list(s)
		for range rapid.IntRange(0, 3).Draw(t, "ranges") {
			bits := s.Addr().BitLen() - rapid.IntRange(0, 3).Draw(t, "bits")
			r := netip.PrefixFrom(rapid.SampledFrom(inside).Draw(t, "range"), max(bits, s.Bits())).Masked()
			if !slices.ContainsFunc(n.Ranges, r.Overlaps) {
				n.Ranges = append(n.Ranges, r)
			}
		}
		n.Reserved = append(n.Reserved, rapid.SliceOfN(rapid.SampledFrom(inside), 0, 3).Draw(t, "reserved")...)
		if rapid.Bool().Draw(t, "own gateway") {
			n.Gateways = append(n.Gateways, rapid.SampledFrom(inside[1:len(inside)-1]).Draw(t, "gateway"))
		}
	}
	n, err := ipam.Check(n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (m *machine) take(t *rapid.T, id heddle.EndpointID, want []netip.Addr) heddle.Code {
	expected, code := m.oracle.take(id, want)
	preview, refusal := m.pool.Preview(id, want)
	lease, err := m.pool.Take(id, want)
	if a, b := outcome(preview, refusal), outcome(lease, err); a != b {
		t.Fatalf("%s wants %v and gets %s, after a preview of %s", id, want, b, a)
	}
	text := string(code)
	if code == "" {
		text = outcome(m.withLength(expected), nil)
	}
	if got := outcome(lease, err); got != text {
		t.Fatalf("%s wants %v and gets %s (%v), want %s", id, want, got, err, text)
	}
	return code
}

func (m *machine) withLength(addrs []netip.Addr) []netip.Prefix {
	var all []netip.Prefix
	for i, a := range addrs {
		all = append(all, netip.PrefixFrom(a, m.network.Subnets[i].Bits()))
	}
	return all
}

// request wants an address of some families, now and then one just outside.
func (m *machine) request(t *rapid.T) {
	var want []netip.Addr
	for _, s := range rapid.Permutation(m.network.Subnets).Draw(t, "families") {
		if rapid.Bool().Draw(t, "wants") {
			all := list(s)
			all = append(all, all[len(all)-1].Next(), all[0].Prev())
			want = append(want, rapid.SampledFrom(all).Draw(t, "address"))
		}
	}
	m.take(t, drawID(t), want)
}

func (m *machine) give(t *rapid.T, id heddle.EndpointID) {
	want := m.oracle.give(id)
	if got := m.pool.Give(id); !slices.Equal(got, want) {
		t.Fatalf("%s gives %v, want %v", id, got, want)
	}
}

// wait lets time go by, or the clock be set back.
func (m *machine) wait(t *rapid.T) {
	seconds := rapid.IntRange(-5, 15).Draw(t, "seconds")
	m.oracle.now = m.oracle.now.Add(time.Duration(seconds) * time.Second)
}

// restart makes a new pool from the data that an agent stores: leases, the cursor, and all, some or
// none of the freed addresses, in any order.
func (m *machine) restart(t *rapid.T) {
	cursor := m.pool.Cursor()
	m.pool = m.newPool()
	if rapid.Bool().Draw(t, "cursor first") {
		m.pool.SetCursor(cursor)
	}
	for id, lease := range m.oracle.leases {
		if err := m.pool.Restore(id, m.withLength(lease)); err != nil {
			t.Fatal(err)
		}
	}
	for i, f := range m.oracle.families {
		kept := rapid.Permutation(f.freed).Draw(t, "freed")
		kept = kept[:rapid.IntRange(0, len(kept)).Draw(t, "kept")]
		for _, x := range kept {
			m.pool.RestoreQuarantine(x.addr, x.since)
		}
		m.oracle.restart(i, cursor[heddle.FamilyOf(f.prefix.Addr())], kept)
	}
	m.pool.SetCursor(cursor)
}

// compare compares what both report about themselves.
func (m *machine) compare(t *rapid.T) {
	held := m.pool.Held()
	if len(held) != len(m.oracle.leases) {
		t.Fatalf("held %v, want %v", held, m.oracle.leases)
	}
	for id, lease := range m.oracle.leases {
		if !slices.Equal(held[id], m.withLength(lease)) {
			t.Fatalf("%s holds %v, want %v", id, held[id], lease)
		}
	}
	stats, cursor := m.pool.Stats(), m.pool.Cursor()
	for i, f := range m.oracle.families {
		if want := m.stats(i, f); stats[i] != want {
			t.Fatalf("stats %+v, want %+v", stats[i], want)
		}
		if at := cursor[stats[i].Family]; len(f.fresh) > 0 && at != f.fresh[0] {
			t.Fatalf("cursor at %s, want %s", at, f.fresh[0])
		}
	}
}

func (m *machine) stats(i int, f *oracleFamily) ipam.Stats {
	s := ipam.Stats{Family: heddle.FamilyOf(f.prefix.Addr())}
	for _, lease := range m.oracle.leases {
		if f.pooled(lease[i]) {
			s.Used++
		} else {
			s.Aside++
		}
	}
	for _, a := range f.ranges {
		if f.pooled(a) {
			s.Size++
		}
	}
	for _, x := range f.freed {
		if m.oracle.now.Sub(x.since) < rest {
			s.Quarantined++
		}
	}
	s.Free = s.Size - s.Used - s.Quarantined
	return s
}

// drain shows that no address was lost: all free addresses can be taken to the last one, and after
// all leases are given back, every address can.
func (m *machine) drain(t *rapid.T) {
	m.fill(t, "rest")
	for id := range m.oracle.leases {
		m.give(t, id)
	}
	got := m.fill(t, "all")
	most := 1 << 30
	for _, s := range m.pool.Stats() {
		most = min(most, int(s.Size))
	}
	if got != most {
		t.Fatalf("%d of %d addresses can be had", got, most)
	}
}

func (m *machine) fill(t *rapid.T, name string) int {
	for i := range 100 {
		if m.take(t, id(fmt.Sprint(name, i)), nil) != "" {
			return i
		}
	}
	return 100
}
