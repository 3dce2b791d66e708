package limits_test

import (
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestLimits: in every mode that has limits, all that comes to a limited container and all that it sends passes a bucket of that rate, also
// to and from neighbours on the fast path, over both families; what is too much is held back. Without limits nothing of them is left.
func TestLimits(t *testing.T) {
	for _, mode := range []string{"bridge", "routed", "overlay"} {
		t.Run(mode, func(t *testing.T) {
			w := world.New(t, world.Watching)
			w.Network(t, "net", mode)
			a, b := w.Pod(t, "a", "net", limited(heddle.RateLimits{In: slow, Out: slow})), w.Pod(t, "b", "net")
			in, out := both(a)
			for _, dev := range []string{in, out} {
				if c := bucket(t, w, dev); c.Options.Rate*8 != uint64(slow.Rate) || c.Options.Burst/100 != slow.Burst/100 {
					t.Errorf("%s: %+v, want rate %d and burst %d", dev, c, slow.Rate, slow.Burst)
				}
			}
			a.Reaches(t, b.Addrs()...)
			for _, to := range a.Addrs() {
				t.Run(fmt.Sprint("in ", heddle.FamilyOf(to)), func(t *testing.T) { heldBack(t, w, b.Netns, to, in) })
			}
			for _, to := range b.Addrs() {
				t.Run(fmt.Sprint("out ", heddle.FamilyOf(to)), func(t *testing.T) { heldBack(t, w, a.Netns, to, out) })
			}
			e := set(t, w, a, &heddle.RateLimit{}, &heddle.RateLimit{})
			if !e.Limits.IsZero() {
				t.Errorf("limits %s after none", e.Limits)
			}
			if bucket(t, w, in).Kind != "" || bucket(t, w, out).Kind != "" {
				t.Error("a bucket is left")
			}
			if left := w.Host.Sh(t, "(ip -br link show type ifb | grep ^hdq; tc filter show dev %s ingress | grep mirred) || true", in); left != "" {
				t.Errorf("left: %s", left)
			}
			if ours, others := programs(t, w, a), programs(t, w, b); ours != others {
				t.Errorf("%d programs of the fast path on a port that has no limits any more, %d on its neighbour's", ours, others)
			}
			a.Reaches(t, b.Addrs()...)
			w.AuditEmpty(t)
		})
	}
}

// heldBack floods an address. All packets come to the bucket of the device, and no more leaves it than its rate allows for the time.
func heldBack(t *testing.T, w *world.World, from world.Netns, to netip.Addr, device string) {
	t.Helper()
	const count = 200
	begin, before := time.Now(), bucket(t, w, device)
	flood(t, from, to, count)
	until(t, "all packets in the bucket", func() bool { return bucket(t, w, device).all()-before.all() >= count })
	after := bucket(t, w, device)
	most := slow.Burst + uint64(time.Since(begin).Seconds()*float64(slow.Rate)/8) + 2000
	if passed := after.Bytes - before.Bytes; passed > most {
		t.Errorf("%d bytes passed, of at most %d", passed, most)
	}
	if after.Drops == before.Drops {
		t.Errorf("nothing was held back: before %+v, after %+v", before, after)
	}
}

func programs(t *testing.T, w *world.World, p *world.Pod) int {
	t.Helper()
	return strings.Count(w.Host.Sh(t, "tc filter show dev %s ingress", p.Port()), "name heddle")
}

// TestLimitsOfMachines: a virtual machine's TAP device is limited as a container's port is.
func TestLimitsOfMachines(t *testing.T) {
	w := world.New(t, world.Watching)
	w.Network(t, "net", "bridge")
	m, b := w.Machine(t, "m", "net", limited(heddle.RateLimits{In: slow, Out: slow})), w.Pod(t, "b", "net")
	in, out := both(m)
	b.Reaches(t, m.Addrs()...)
	heldBack(t, w, b.Netns, m.V4(), in)
	heldBack(t, w, m.Netns, b.V6(), out)
}

// TestOneWay: a limit of one direction leaves the other one alone.
func TestOneWay(t *testing.T) {
	w := world.New(t, world.Watching)
	w.Network(t, "net", "bridge")
	a := w.Pod(t, "a", "net", limited(heddle.RateLimits{Out: slow}))
	in, out := both(a)
	if bucket(t, w, in).Kind != "" || bucket(t, w, out).Kind == "" {
		t.Error("not only what it sends is limited")
	}
	set(t, w, a, &slow, &heddle.RateLimit{})
	if bucket(t, w, in).Kind == "" || bucket(t, w, out).Kind != "" {
		t.Error("not only what it receives is limited")
	}
}

// TestSegments: segments of 64 KB pass a bucket with less room than that, cut up, and one with more.
func TestSegments(t *testing.T) {
	for _, burst := range []uint64{5e3, 200e3} {
		t.Run(heddle.FormatSize(burst), func(t *testing.T) {
			w := world.New(t, world.Watching)
			w.Network(t, "net", "bridge")
			l := heddle.RateLimit{Rate: 200e6, Burst: burst}
			a, b := w.Pod(t, "a", "net", limited(heddle.RateLimits{In: l, Out: l})), w.Pod(t, "b", "net")
			at := netip.AddrPortFrom(b.V4(), 7000)
			b.Listen(t, "tcp", at)
			in, out := both(a)
			c, err := a.Dial("tcp", netip.AddrPort{}, at, world.Patience)
			cell.Must(t, err)
			defer c.Close()
			c.SetDeadline(time.Now().Add(world.Patience))
			const size = 1 << 20
			go c.Write(make([]byte, size))
			if _, err := io.CopyN(io.Discard, c, size); err != nil { // which is echoed
				t.Fatal(err)
			}
			for _, dev := range []string{in, out} {
				if passed := bucket(t, w, dev).Bytes; passed < size {
					t.Errorf("%d bytes passed %s, want %d at least", passed, dev, size)
				}
			}
		})
	}
}

// TestAnotherRate: while packets wait, their limit is changed, and none is lost.
func TestAnotherRate(t *testing.T) {
	w := world.New(t, world.Watching)
	w.Network(t, "net", "bridge")
	l := heddle.RateLimit{Rate: 64e3, Burst: 2e3}
	a, b := w.Pod(t, "a", "net", limited(heddle.RateLimits{In: l, Out: l})), w.Pod(t, "b", "net")
	for _, way := range []struct {
		from   world.Netns
		to     netip.Addr
		device string
	}{{b.Netns, a.V4(), a.Port()}, {a.Netns, b.V4(), a.Endpoint.ID.ShaperName()}} {
		before := bucket(t, w, way.device)
		flood(t, way.from, way.to, 15)
		until(t, "packets that wait", func() bool { return bucket(t, w, way.device).Waiting > 5 })
		for _, rate := range []heddle.Rate{100e3, 80e3, 20e6} {
			next := heddle.RateLimit{Rate: rate, Burst: 2e3}
			set(t, w, a, &next, &next)
			if have := bucket(t, w, way.device).Options.Rate * 8; have != uint64(rate) {
				t.Errorf("rate %d, want %d", have, rate)
			}
		}
		until(t, "an empty queue", func() bool { return bucket(t, w, way.device).Waiting == 0 })
		if after := bucket(t, w, way.device); after.Packets-before.Packets < 15 || after.Drops != before.Drops {
			t.Errorf("packets were lost: before %+v, after %+v", before, after)
		}
		set(t, w, a, &l, &l)
	}
}
