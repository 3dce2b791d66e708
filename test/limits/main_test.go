// Package limits_test proves what limits of endpoints promise: that no more than the rate passes their ports, whichever way it would take.
// No test measures time: what counts is what the kernel's buckets have counted.
package limits_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/world"
)

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

var ctx = context.Background()

// slow is a limit that a test reaches at once.
var slow = heddle.RateLimit{Rate: 64e3, Burst: 10e3}

func limited(l heddle.RateLimits) world.PodOption {
	return func(r *heddle.AttachRequest) { r.Limits = l }
}

// set changes the limits of a container: what is nil stays.
func set(t *testing.T, w *world.World, p *world.Pod, in, out *heddle.RateLimit) heddle.Endpoint {
	t.Helper()
	e, _, err := w.SetLimits(ctx, p.Endpoint.ID, heddle.RateLimitChange{In: in, Out: out}, false)
	cell.Must(t, err)
	return e
}

// counts are what a qdisc says of itself (tc -s -j qdisc).
type counts struct {
	Kind    string `json:"kind"`
	Handle  string `json:"handle"`
	Root    bool   `json:"root"`
	Bytes   uint64 `json:"bytes"`
	Packets uint64 `json:"packets"`
	Drops   uint64 `json:"drops"`
	Waiting uint64 `json:"qlen"`
	Options struct {
		Rate  uint64 `json:"rate"` // bytes a second
		Burst uint64 `json:"burst"`
	} `json:"options"`
}

// all is how many packets have come to the bucket.
func (c counts) all() uint64 { return c.Packets + c.Drops + c.Waiting }

// bucket reads the bucket of a device; there is none if its kind is "".
func bucket(t *testing.T, w *world.World, link string) counts {
	t.Helper()
	return bucketIn(t, w.Host, link)
}

// both are the devices that hold back what a container receives, and what it sends.
func both(p *world.Pod) (in, out string) { return p.Port(), p.Endpoint.ID.ShaperName() }

// flood sends datagrams of 1000 bytes to a port where nobody listens, as fast as the kernel takes them.
func flood(t *testing.T, from world.Netns, to netip.Addr, count int) {
	t.Helper()
	c, err := from.Dial("udp", netip.AddrPort{}, netip.AddrPortFrom(to, 9), world.Patience)
	cell.Must(t, err)
	defer c.Close()
	for sent := 0; sent < count; {
		_, err := c.Write(make([]byte, 1000))
		switch {
		case err == nil:
			sent++
		case !errors.Is(err, unix.ECONNREFUSED): // an answer that nobody listens there
			t.Fatal(err)
		}
	}
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	poll.For(t, world.Patience, 20*time.Millisecond, what, ok)
}
