package ipam_test

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/ipam"
	"pgregory.net/rapid"
)

// TestBlocks changes the blocks and lends addresses while endpoints take and give. Every address
// that is given out without a request is in a block, nobody shares an address, and at the end all
// addresses of the blocks can be given out.
func TestBlocks(outer *testing.T) {
	rapid.Check(outer, func(t *rapid.T) {
		n := checked(outer, "10.0.0.0/26")
		pool := ipam.NewPool(n)
		mine, lent := map[int]bool{}, map[netip.Addr]string{}
		block := func(i int) netip.Prefix {
			return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i * 8)}), 29)
		}
		set := func() {
			blocks := []netip.Prefix{}
			for i := range mine {
				blocks = append(blocks, block(i))
			}
			pool.SetBlocks(blocks, lent)
		}
		set()
		owned := func(a netip.Addr) bool { return mine[int(a.As4()[3])/8] && lent[a] == "" }
		anyAddr := func(t *rapid.T) netip.Addr {
			return netip.AddrFrom4([4]byte{10, 0, 0, byte(rapid.IntRange(1, 62).Draw(t, "address"))})
		}
		t.Repeat(map[string]func(*rapid.T){
			"claim": func(t *rapid.T) { mine[rapid.IntRange(0, 7).Draw(t, "block")] = true; set() },
			"yield": func(t *rapid.T) {
				i := rapid.IntRange(0, 7).Draw(t, "block")
				for held := range pool.Held() {
					for _, a := range pool.Held()[held] {
						if block(i).Contains(a.Addr()) && pool.Idle(block(i)) {
							t.Fatalf("%s is idle though %s has %s", block(i), held, a)
						}
					}
				}
				if pool.Idle(block(i)) {
					delete(mine, i)
					set()
				}
			},
			"lend": func(t *rapid.T) {
				a := anyAddr(t)
				if err := pool.Lend(a, "host2"); err == nil {
					if id, held := pool.Holder(a); held {
						t.Fatalf("%s lent though %s has it", a, id)
					}
					lent[a] = "host2"
				}
			},
			"reclaim": func(t *rapid.T) { a := anyAddr(t); pool.Reclaim(a); delete(lent, a) },
			"take": func(t *rapid.T) {
				known := pool.Held()
				who := drawID(t)
				got, err := pool.Take(who, nil)
				if err == nil && known[who] == nil && !owned(got[0].Addr()) {
					t.Fatalf("%s is not in the blocks %v without %v", got[0], mine, lent)
				}
			},
			"give": func(t *rapid.T) { pool.Give(drawID(t)) },
		})
		for id := range pool.Held() {
			pool.Give(id)
		}
		want := 0
		for a := netip.MustParseAddr("10.0.0.1"); a.As4()[3] < 63; a = a.Next() {
			if owned(a) && a != n.Gateways[0] {
				want++
			}
		}
		for i := range want {
			if _, err := pool.Take(id(fmt.Sprint("last", i)), nil); err != nil {
				t.Fatalf("%d of %d: %v", i, want, err)
			}
		}
		if _, err := pool.Take(id("over"), nil); !errors.Is(err, heddle.PoolExhausted.Sentinel()) {
			t.Fatalf("one more: %v", err)
		}
	})
}

// TestRestoreWhatIsLent: an endpoint from before the agent's start has its address, although the
// store says that it is another host's. Nobody else gets it.
func TestRestoreWhatIsLent(t *testing.T) {
	pool := ipam.NewPool(checked(t, "10.0.0.0/26"))
	block, lent := netip.MustParsePrefix("10.0.0.8/29"), netip.MustParseAddr("10.0.0.9")
	pool.SetBlocks([]netip.Prefix{block}, map[netip.Addr]string{lent: "another host"})
	if err := pool.Restore(id("a"), prefixes("10.0.0.9/26")); err != nil {
		t.Fatal(err)
	}
	expect(t, take(pool, "b", "10.0.0.9"), string(heddle.AddressTaken))
	count := func(want ipam.Stats) {
		t.Helper()
		if got := pool.Stats(); !reflect.DeepEqual(got, []ipam.Stats{want}) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	count(ipam.Stats{Family: heddle.IPv4, Size: 7, Free: 7, Aside: 1})
	pool.Reclaim(lent)
	count(ipam.Stats{Family: heddle.IPv4, Size: 8, Used: 1, Free: 7})
	pool.Give(id("a"))
	count(ipam.Stats{Family: heddle.IPv4, Size: 8, Free: 7, Quarantined: 1})
}
