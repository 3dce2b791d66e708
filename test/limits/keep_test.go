package limits_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestPutBack: what somebody else removes of the limits, or changes, is put back.
func TestPutBack(t *testing.T) {
	w := world.New(t, world.Watching)
	w.Network(t, "net", "bridge")
	a := w.Pod(t, "a", "net", limited(heddle.RateLimits{In: slow, Out: slow}))
	in, out := both(a)
	diverted := func() bool {
		return w.Host.Sh(t, "tc filter show dev %s ingress | grep -o 'Redirect to device %s' || true", in, out) != ""
	}
	whole := func() bool {
		return bucket(t, w, in).Options.Rate*8 == uint64(slow.Rate) && bucket(t, w, out).Options.Rate*8 == uint64(slow.Rate) && diverted()
	}
	if !whole() {
		t.Fatal("not limited")
	}
	time.Sleep(time.Second) // so long after an attach, a change may be the agent's own
	for _, damage := range []string{
		"tc qdisc del dev " + in + " root",
		"tc qdisc del dev " + out + " root",
		fmt.Sprintf("tc qdisc change dev %s root handle %x: tbf rate 1gbit burst 100k limit 100k", in, heddle.BucketHandle),
		"tc qdisc replace dev " + in + " root noqueue", // as libvirtd does
		"tc filter del dev " + in + " ingress",
		"tc qdisc del dev " + in + " ingress",
		"ip link del " + out,
		"ip link set " + out + " down",
	} {
		t.Run(damage, func(t *testing.T) {
			w.Host.Sh(t, "%s", damage)
			until(t, "the limits are back", func() bool {
				found, err := w.Audit()
				return err == nil && len(found) == 0 && whole()
			})
		})
	}
	a.Reaches(t, w.Networks()[0].Gateways...)
}

// TestSomebodyElses: a root qdisc of somebody else on the port is left alone, and the limit refused; nothing changes.
func TestSomebodyElses(t *testing.T) {
	w := world.New(t, world.Watching)
	w.Network(t, "net", "bridge")
	a := w.Pod(t, "a", "net")
	in, out := both(a)
	w.Host.Sh(t, "tc qdisc add dev %s root handle 1: tbf rate 1gbit burst 100k limit 100k", in)
	_, _, err := w.SetLimits(ctx, a.Endpoint.ID, heddle.RateLimitChange{In: &slow, Out: &slow}, false)
	wantCode(t, err, heddle.KernelRefused)
	if c := bucket(t, w, in); c.Handle != "1:" {
		t.Errorf("on the port: %+v", c)
	}
	if e, err := w.Endpoint(a.Endpoint.ID); err != nil || !e.Limits.IsZero() {
		t.Errorf("limits %s, error %v", e.Limits, err)
	}
	if left := w.Host.Sh(t, "(ip -br link show type ifb | grep ^hdq; tc filter show dev %s ingress | grep mirred) || true", in); left != "" {
		t.Errorf("left: %s", left)
	}
	w.AuditEmpty(t)
	if c := bucket(t, w, out); c.Kind != "" {
		t.Errorf("left: %+v", c)
	}
}

// TestRestart: the next agent has the limits, and finds nothing to do.
func TestRestart(t *testing.T) {
	w := world.New(t, world.Watching)
	w.Network(t, "net", "bridge")
	a := w.Pod(t, "a", "net", limited(heddle.RateLimits{In: slow}))
	set(t, w, a, nil, &slow)
	in, out := both(a)
	w.Restart(t, func() { w.Host.Sh(t, "tc qdisc del dev %s root", out) })
	e, err := w.Endpoint(a.Endpoint.ID)
	if cell.Must(t, err); e.Limits != (heddle.RateLimits{In: slow, Out: slow}) {
		t.Errorf("limits %s", e.Limits)
	}
	if bucket(t, w, in).Kind == "" || bucket(t, w, out).Kind == "" {
		t.Error("a bucket is gone")
	}
	w.AuditEmpty(t)
	// attached again with what it has now, it is left as it is; with other limits the request is refused
	reply, err := w.Attach(ctx, w.Request(a.Netns, "net", limited(e.Limits)))
	if err != nil || !reply.Existed {
		t.Errorf("attached again: %v, existed %v", err, reply.Existed)
	}
	_, err = w.Attach(ctx, w.Request(a.Netns, "net"))
	wantCode(t, err, heddle.EndpointDiffers)
}

// TestKilled: an agent that dies at any step of a change leaves an endpoint that the next one has either with its old limits or with the
// new ones, whole.
func TestKilled(t *testing.T) {
	w := world.New(t, world.Watching)
	w.Network(t, "net", "bridge")
	a := w.Pod(t, "a", "net", limited(heddle.RateLimits{In: slow}))
	other := heddle.RateLimit{Rate: 1e6, Burst: 20e3}
	for _, change := range []heddle.RateLimitChange{{In: &heddle.RateLimit{}, Out: &slow}, {In: &other, Out: &heddle.RateLimit{}}} {
		steps := 0
		for killed := true; killed; steps++ {
			e, err := w.Endpoint(a.Endpoint.ID)
			cell.Must(t, err)
			old := e.Limits
			at := 0
			killed = false
			w.TripAt(func(string) error {
				if at++; at > steps {
					killed = true
					return errors.New("killed")
				}
				return nil
			})
			_, _, err = w.SetLimits(ctx, a.Endpoint.ID, change, false)
			if w.TripAt(nil); killed != (err != nil) {
				t.Errorf("step %d: killed %v, error %v", steps, killed, err)
			}
			w.Restart(t, nil)
			e, err = w.Endpoint(a.Endpoint.ID)
			if cell.Must(t, err); e.Limits != old && e.Limits != change.Apply(old) {
				t.Errorf("step %d: limits %s, from %s", steps, e.Limits, old)
			}
			in, out := both(a)
			if bucket(t, w, in).Options.Rate*8 != uint64(e.Limits.In.Rate) || bucket(t, w, out).Options.Rate*8 != uint64(e.Limits.Out.Rate) {
				t.Errorf("step %d: limits %s, and the kernel has %+v and %+v", steps, e.Limits, bucket(t, w, in), bucket(t, w, out))
			}
			w.AuditEmpty(t)
			if e.Limits != old && killed {
				set(t, w, a, &old.In, &old.Out)
			}
		}
		if steps < 4 {
			t.Errorf("only %d steps", steps)
		}
	}
}

// TestRefused: where limits cannot be kept, and what cannot be one, is refused; nothing changes.
func TestRefused(t *testing.T) {
	w := world.New(t, world.Watching)
	w.Network(t, "net", "bridge")
	w.Network(t, "plain", "host", func(n *heddle.Network) { n.Subnets = nil })
	lan, _, err := w.CreateNetwork(heddle.Network{Name: "lan", Mode: "macvlan", Parent: "up0"}, false)
	cell.Must(t, err)
	ns := world.NewNetns(t, "x")
	for _, network := range []string{lan.Name, "plain"} {
		_, err := w.Attach(ctx, w.Request(ns, network, limited(heddle.RateLimits{Out: slow})))
		wantCode(t, err, heddle.BadOption)
	}
	for _, l := range []heddle.RateLimit{{Rate: 1e3}, {Rate: 2e12}, {Burst: 1e4}, {Rate: 1e6, Burst: 1000}, {Rate: 1e6, Burst: 1e9}} {
		_, err := w.Attach(ctx, w.Request(ns, "net", limited(heddle.RateLimits{In: l})))
		wantCode(t, err, heddle.BadOption)
	}
	if all := w.Endpoints(); len(all) > 0 {
		t.Errorf("there are %v", all)
	}
	a := w.PodIn(t, ns, "net", limited(heddle.RateLimits{Out: slow}))
	_, _, err = w.SetLimits(ctx, a.Endpoint.ID, heddle.RateLimitChange{Out: &heddle.RateLimit{Rate: 1}}, false)
	wantCode(t, err, heddle.BadOption)
	_, _, err = w.SetLimits(ctx, heddle.EndpointID{Container: "nobody", IfName: "eth0"}, heddle.RateLimitChange{Out: &slow}, false)
	wantCode(t, err, heddle.NoEndpoint)
	e, lines, err := w.SetLimits(ctx, a.Endpoint.ID, heddle.RateLimitChange{In: &slow, Out: &heddle.RateLimit{}}, true)
	if cell.Must(t, err); len(lines) < 3 || e.Limits.In != slow {
		t.Errorf("dry run: %s, %q", e.Limits, lines)
	}
	if e, _ := w.Endpoint(a.Endpoint.ID); e.Limits != (heddle.RateLimits{Out: slow}) {
		t.Errorf("limits %s", e.Limits)
	}
	w.AuditEmpty(t)
}

func wantCode(t *testing.T, err error, code heddle.Code) {
	t.Helper()
	if !errors.Is(err, code.Sentinel()) {
		t.Errorf("got error %v, want %s", err, code)
	}
}
