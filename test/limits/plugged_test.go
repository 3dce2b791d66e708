package limits_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic/service"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// gateway4 and gateway6 are the hypervisor's, on the network of the NICs.
var gateway4, gateway6 = netip.MustParseAddr("10.80.0.1"), netip.MustParseAddr("fd80::1")

func asIs(*service.Guest) {}

// plugs has a network's NICs plugged in.
func plugs(options ...string) world.NetworkOption {
	return func(n *heddle.Network) {
		n.Subnets = nil
		for _, o := range append(options, "plug="+onRed) {
			world.With(o)(n)
		}
	}
}

// TestPlugged: what comes to a container with a NIC that the hypervisor has plugged in, and what it sends, passes buckets at the switch there. They are
// changed without a loss, outlive all agents and the service, and go with the endpoint.
func TestPlugged(t *testing.T) {
	h, w := newHypervisor(t, asIs)
	w.Network(t, "fast", "direct", plugs())
	a := w.Pod(t, "a", "fast", limited(heddle.RateLimits{In: slow, Out: slow}))
	if a.Endpoint.Limits != (heddle.RateLimits{In: slow, Out: slow}) || a.Endpoint.Limits != a.Endpoint.LimitsAsked {
		t.Errorf("the endpoint has %+v, and asked for %+v", a.Endpoint.Limits, a.Endpoint.LimitsAsked)
	}
	h.has(slow.Rate, slow.Rate)
	a.Reaches(t, gateway4, gateway6)
	for what, way := range map[string]struct {
		from world.Netns
		to   netip.Addr
		read func() counts
	}{
		"in, IPv4": {h.netns, a.V4(), func() counts { in, _ := h.buckets(); return in }}, "in, IPv6": {h.netns, a.V6(), func() counts { in, _ := h.buckets(); return in }},
		"out, IPv4": {a.Netns, gateway4, func() counts { _, out := h.buckets(); return out }}, "out, IPv6": {a.Netns, gateway6, func() counts { _, out := h.buckets(); return out }},
	} {
		t.Run(what, func(t *testing.T) { heldBackAt(t, way.from, way.to, way.read) })
	}
	faster := heddle.RateLimit{Rate: 20e6, Burst: slow.Burst}
	flood(t, h.netns, a.V4(), 15)
	before, _ := h.buckets()
	e := set(t, w, a, &faster, nil)
	if e.Limits != (heddle.RateLimits{In: faster, Out: slow}) {
		t.Errorf("limits %s", e.Limits)
	}
	until(t, "an empty queue", func() bool { in, _ := h.buckets(); return in.Waiting == 0 })
	if after, _ := h.buckets(); after.Packets < before.Packets+before.Waiting { // what came to the full queue meanwhile was dropped
		t.Errorf("packets were lost: before %+v, after %+v", before, after)
	}
	w.Restart(t, nil)
	h.restart(asIs)
	dir := h.agent.Dir
	h.agent.Kill()
	h.startAgent(dir)
	h.restart(asIs) // with the agent that is there now
	h.has(faster.Rate, slow.Rate)
	if e, err := w.Endpoint(a.Endpoint.ID); err != nil || e.Limits != (heddle.RateLimits{In: faster, Out: slow}) {
		t.Errorf("limits %s, %v", e.Limits, err)
	}
	h.netns.Sh(t, "tc qdisc del dev %s root", h.ports()[0].Port)
	h.has(faster.Rate, slow.Rate)
	w.AuditEmpty(t)
	if e := set(t, w, a, &heddle.RateLimit{}, &heddle.RateLimit{}); !e.Limits.IsZero() {
		t.Errorf("limits %s after none", e.Limits)
	}
	h.has(0, 0)
	_, lines, err := w.SetLimits(ctx, a.Endpoint.ID, heddle.RateLimitChange{In: &slow}, true)
	if err != nil || len(lines) != 1 || !strings.Contains(lines[0], string(a.Endpoint.MAC)) || !strings.Contains(lines[0], "64kbit") {
		t.Errorf("dry run: %q, %v", lines, err)
	}
	h.has(0, 0)
	a.Reaches(t, gateway4, gateway6)
	a.Leave(t)
	until(t, "no port", func() bool { return len(h.ports()) == 0 })
}

// heldBackAt floods an address. All packets come to a bucket of rate slow, and no more leaves it than that allows for the time.
func heldBackAt(t *testing.T, from world.Netns, to netip.Addr, read func() counts) {
	t.Helper()
	const count = 200
	begin, before := time.Now(), read()
	flood(t, from, to, count)
	until(t, "more packets than fit", func() bool { return read().Drops > before.Drops })
	after := read()
	most := slow.Burst + uint64(time.Since(begin).Seconds()*float64(slow.Rate)/8) + 2000
	if passed := after.Bytes - before.Bytes; passed > most {
		t.Errorf("%d bytes passed, of at most %d", passed, most)
	}
}

// TestPluggedCap: what the hypervisor's file allows, holds, whatever the machine asks for.
func TestPluggedCap(t *testing.T) {
	h, w := newHypervisor(t, func(g *service.Guest) { g.Rate, g.RateOut = "10mbit", "1mbit" })
	w.Network(t, "fast", "direct", plugs())
	a := w.Pod(t, "a", "fast")
	h.has(10e6, 1e6)
	if a.Endpoint.Limits.In.Rate != 10e6 || a.Endpoint.Limits.Out.Rate != 1e6 || !a.Endpoint.LimitsAsked.IsZero() {
		t.Errorf("the endpoint has %s, and asked for %s", a.Endpoint.Limits, a.Endpoint.LimitsAsked)
	}
	more := heddle.RateLimit{Rate: 1e9}
	if e := set(t, w, a, &more, &slow); e.Limits.In.Rate != 10e6 || e.Limits.Out != slow || e.LimitsAsked.In != more {
		t.Errorf("the endpoint has %s, and asked for %s", e.Limits, e.LimitsAsked)
	}
	h.has(10e6, slow.Rate)
	set(t, w, a, &heddle.RateLimit{}, &heddle.RateLimit{})
	h.has(10e6, 1e6)
	port := h.ports()[0].ID
	_, _, err := h.agent.SetLimits(ctx, port, heddle.RateLimitChange{In: &slow}, false) // by the operator
	cell.Must(t, err)
	until(t, "the endpoint tells of it", func() bool {
		e, err := w.Endpoint(a.Endpoint.ID)
		return err == nil && (e.Limits.In == slow || e.Limits.In.Rate == 10e6)
	})
	h.restart(func(g *service.Guest) { g.Rate, g.RateOut = "", "2mbit" })
	h.has(0, 2e6)
	until(t, "the endpoint tells of it", func() bool {
		e, err := w.Endpoint(a.Endpoint.ID)
		return err == nil && e.Limits.In.Rate == 0 && e.Limits.Out.Rate == 2e6
	})
}

// TestPluggedRefused: limits that cannot be kept are refused, and no NIC is plugged in.
func TestPluggedRefused(t *testing.T) {
	h, w := newHypervisor(t, func(g *service.Guest) { g.Addresses = 2 })
	w.Network(t, "fast", "direct", plugs())
	_, _, err := w.CreateNetwork(heddle.Network{Name: "pods", Mode: "ipvlan", Subnets: []netip.Prefix{netip.MustParsePrefix("10.80.0.0/24")}, Options: map[string]string{"plug": onRed}}, false)
	cell.Must(t, err)
	w.Network(t, "own", "direct", func(n *heddle.Network) { n.Subnets = nil; world.With("nics=up0")(n) })
	ns := world.NewNetns(t, "x")
	for _, c := range []struct {
		network, says string
		l             heddle.RateLimit
	}{
		{"pods", "use a network of mode direct or routed with --opt plug=" + onRed, slow}, {"own", "mode bridge", slow},
		{"fast", "64kbit", heddle.RateLimit{Rate: 1e3}}, {"fast", "no rate", heddle.RateLimit{Burst: 1e4}}, {"fast", "less than a frame", heddle.RateLimit{Rate: 1e6, Burst: 1000}},
	} {
		_, err := w.Attach(ctx, w.Request(ns, c.network, limited(heddle.RateLimits{Out: c.l})))
		wantCode(t, err, heddle.BadOption)
		if err != nil && !strings.Contains(err.Error()+heddle.RemedyOf(err), c.says) {
			t.Errorf("%s: %v; %s", c.network, err, heddle.RemedyOf(err))
		}
	}
	until(t, "no port", func() bool { return len(h.ports()) == 0 })
	if all := w.Endpoints(); len(all) > 0 {
		t.Errorf("there are %v", all)
	}
}

// TestPluggedPool: a NIC that goes back into its pool has no limits. One whose limits could not be ended does not go back.
func TestPluggedPool(t *testing.T) {
	h, w := newHypervisor(t, asIs)
	w.Network(t, "fast", "direct", plugs("warm=1"))
	until(t, "a NIC that waits", func() bool { return len(h.ports()) == 1 })
	a := w.Pod(t, "a", "fast", limited(heddle.RateLimits{In: slow, Out: slow}))
	mac := a.Endpoint.MAC
	until(t, "the buckets", func() bool {
		for _, e := range h.ports() {
			if e.MAC == mac {
				return e.Limits == heddle.RateLimits{In: slow, Out: slow}
			}
		}
		return false
	})
	a.Leave(t)
	for _, e := range h.ports() {
		if !e.Limits.IsZero() || e.Labels["heddle.nic.in"] != "" {
			t.Errorf("a NIC of the pool has limits %s, labels %v", e.Limits, e.Labels)
		}
	}
	w.AuditEmpty(t)
}

// TestPluggedKilled: an agent that dies at any step of an attach or a change leaves a NIC that the next one has limited as its record says, or none.
func TestPluggedKilled(t *testing.T) {
	h, w := newHypervisor(t, asIs)
	w.Network(t, "fast", "direct", plugs())
	ns := world.NewNetns(t, "k")
	req := w.Request(ns, "fast", limited(heddle.RateLimits{In: slow}))
	other := heddle.RateLimit{Rate: 1e6, Burst: 20e3}
	for what, do := range map[string]func() error{
		"attach": func() error { _, err := w.Attach(ctx, req); return err },
		"change": func() error {
			_, _, err := w.SetLimits(ctx, req.ID, heddle.RateLimitChange{In: &other}, false)
			return err
		},
	} {
		for steps, killed := 0, true; killed; steps++ {
			if what == "change" {
				_, err := w.Attach(ctx, req)
				cell.Must(t, err)
			}
			var at, dead atomic.Int32
			w.TripAt(func(step string) error {
				if !strings.Contains(step, "limit") && !strings.HasPrefix(step, "ledger") {
					return nil
				}
				if int(at.Add(1)) > steps {
					dead.Store(1)
					return errors.New("killed")
				}
				return nil
			})
			err := do()
			w.TripAt(nil)
			if killed = dead.Load() > 0; !killed && err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			w.Restart(t, nil)
			e, err := w.Endpoint(req.ID)
			until(t, fmt.Sprintf("step %d of %s: the port is as recorded", steps, what), func() bool {
				all := h.ports()
				if err != nil {
					return len(all) == 0
				}
				return len(all) == 1 && all[0].Limits == e.Limits
			})
			w.AuditEmpty(t)
			_, err = w.Detach(ctx, req.ID)
			cell.Must(t, err)
			if !killed && steps < 2 {
				t.Errorf("%s has only %d steps", what, steps)
			}
		}
	}
}

// TestPluggedRate measures how much of a rate passes when UDP offers more, and logs it. More than the rate must not pass. On a busy machine
// less may be offered.
func TestPluggedRate(t *testing.T) {
	soak.Need(t, "it sends for half a minute, and measures")
	h, w := newHypervisor(t, asIs)
	w.Network(t, "fast", "direct", plugs())
	for _, rate := range []heddle.Rate{10e6, 100e6} {
		l := heddle.RateLimit{Rate: rate}
		a := w.Pod(t, fmt.Sprint("a", rate), "fast", limited(heddle.RateLimits{In: l, Out: l}))
		for what, way := range map[string]struct {
			from world.Netns
			to   netip.Addr
			read func() counts
		}{
			"in": {h.netns, a.V4(), func() counts { in, _ := h.buckets(); return in }}, "out": {a.Netns, gateway4, func() counts { _, out := h.buckets(); return out }},
		} {
			stop, ended := make(chan bool), make(chan bool)
			go func() {
				defer close(ended)
				for {
					select {
					case <-stop:
						return
					default:
						flood(t, way.from, way.to, 20)
						time.Sleep(100 * time.Microsecond)
					}
				}
			}()
			time.Sleep(500 * time.Millisecond)
			before, begin := way.read(), time.Now()
			time.Sleep(3 * time.Second)
			after, took := way.read(), time.Since(begin)
			share := measured(before, after, took)
			t.Logf("%s %s: %.3f of the rate; %d dropped", rate, what, share, after.Drops-before.Drops)
			if share > 1.03 {
				t.Errorf("%s %s: %.3f of the rate has passed", rate, what, share)
			}
			close(stop)
			<-ended
		}
		a.Leave(t)
		until(t, "no port", func() bool { return len(h.ports()) == 0 })
	}
}
