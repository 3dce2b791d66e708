package modes_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestDrift: whatever somebody removes or changes is noticed and put back, and
// a ping between two other containers does not notice, or soon goes on. The log says
// how soon: within a second where nothing else keeps the machine busy. Half of the
// repairs are to take less than two seconds even where everything is tested at once.
func TestDrift(t *testing.T) {
	one(t, func(t *testing.T, mode string) {
		w := world.New(t, world.Watching)
		n := w.Network(t, "net", mode, world.With("masquerade=true"))
		a, b := w.Pod(t, "a", "net", world.Publish("8080:80/tcp")), w.Pod(t, "b", "net")
		a.Reaches(t, b.Addrs()...)
		time.Sleep(time.Second)
		whole := settled(t, w, a)
		var times []time.Duration
		for _, d := range damages(n, a, mode) {
			w.Host.Sh(t, "%s", d.command)
			took := world.Within(t, world.RepairTime, d.object+" is back", func() error { return intact(w, a) })
			t.Logf("%-24s back after %4d ms", d.object, took.Milliseconds())
			times = append(times, took)
			world.Soon(t, "a reaches b after "+d.object, func() error {
				return errors.Join(a.Ping(b.V4(), "-W0.3"), a.Ping(b.V6(), "-W0.3"), w.Host.Ping(a.V4(), "-W0.3"))
			})
			if t.Failed() {
				break
			}
		}
		slices.Sort(times)
		if median := times[len(times)/2]; median > 2*time.Second*world.Slowness {
			t.Errorf("half of the objects were away for %v and longer", median)
		}
		if w.Status().Repairs == 0 {
			t.Error("the status counts no repairs")
		}
		world.Within(t, 3*world.Patience, "all is as before", func() error { return sameLines(whole, settled(t, w, a)) })
	})
}

// TestDriftInside: what is removed inside a container, where the agent does not
// look by itself, is named by a check and back after the next attach.
func TestDriftInside(t *testing.T) {
	one(t, func(t *testing.T, mode string) {
		w := world.New(t)
		n := w.Network(t, "net", mode, world.With("masquerade=true"))
		a := w.Pod(t, "a", "net")
		for _, command := range []string{"ip address flush dev eth0 scope global", "ip route del default",
			"ip link set eth0 down", "sysctl -qw net.ipv6.conf.eth0.accept_ra=1", "ip link set lo down"} {
			before := w.Status().Repairs
			a.Sh(t, "%s", command)
			found, err := w.Check(a.Endpoint.ID)
			cell.Must(t, err)
			audited, err := w.Audit()
			cell.Must(t, err)
			if len(found) != len(audited) && w.Status().Repairs == before {
				t.Errorf("after %s a check finds %v, and an audit %v", command, found, audited)
			}
			if len(found) == 0 { // a patrol that was about to mend something else has mended this, too
				world.Soon(t, "the check finds what was done by "+command+", or a repair is counted", func() error {
					if w.Status().Repairs == before {
						return errors.New("no repair is counted")
					}
					return nil
				})
			}
			_, err = w.Attach(ctx, w.Request(a.Netns, "net"))
			cell.Must(t, err)
			cell.Must(t, intact(w, a))
			world.Soon(t, "a is whole after "+command, func() error {
				return errors.Join(a.Ping(n.Gateways[0], "-W0.3"), a.Ping(n.Gateways[1], "-W0.3"), a.Ping(world.Outside4, "-W0.3"), a.Ping(loopback4, "-W0.3"))
			})
		}
	})
}

// intact asks the agent whether anything is missing or different.
func intact(w *world.World, a *world.Pod) error {
	found, err := w.Check(heddle.EndpointID{})
	if err != nil || len(found) > 0 {
		return fmt.Errorf("%v, %v", found, err)
	}
	return nil
}

// settled is a dump without what a new device has of its own: numbers, and the
// order in which things were made.
func settled(t *testing.T, w *world.World, a *world.Pod) string {
	t.Helper()
	return world.Unnumbered(w.Host.Dump(t) + a.Dump(t))
}

// sameLines compares two dumps as sets of lines.
func sameLines(before, after string) error {
	have := map[string]int{}
	for line := range strings.Lines(before) {
		have[strings.Join(strings.Fields(line), " ")]++
	}
	for line := range strings.Lines(after) {
		have[strings.Join(strings.Fields(line), " ")]--
	}
	var diff []string
	for line, n := range have {
		if n != 0 {
			diff = append(diff, fmt.Sprintf("%+d %s", -n, line))
		}
	}
	if len(diff) > 0 {
		return errors.New(strings.Join(diff, "\n"))
	}
	return nil
}

// TestFlush: "nft flush ruleset" is noticed and answered, and isolation is back
// with it; traffic that may pass never stops.
func TestFlush(t *testing.T) {
	one(t, func(t *testing.T, mode string) {
		w := world.New(t, world.Watching)
		w.Network(t, "first", mode)
		w.Network(t, "second", mode)
		a, b, c := w.Pod(t, "a", "first"), w.Pod(t, "b", "first"), w.Pod(t, "c", "second")
		for _, to := range c.Addrs() {
			a.Silent(t, to)
		}
		best := world.RepairTime
		for round := range 3 {
			w.Host.Sh(t, "nft flush ruleset")
			took := world.Within(t, world.RepairTime, fmt.Sprintf("isolation after flush %d", round), func() error {
				for _, to := range c.Addrs() {
					if a.Ping(to, "-W0.1") == nil {
						return fmt.Errorf("%s is reached", to)
					}
				}
				return intact(w, a)
			})
			t.Logf("isolation back after %4d ms", took.Milliseconds())
			best = min(best, took)
			a.Reaches(t, b.Addrs()...)
		}
		if best > 2*time.Second*world.Slowness {
			t.Errorf("isolation was away for %v at best", best)
		}
		if said := w.Logged(); strings.Contains(said, "drift not repaired") { // the next try is seconds later
			t.Errorf("an endpoint was repaired before what it builds on")
		}
		apart(t, a, c)
	})
}

// TestDriftWhileBusy: a host on which containers come and go all the time is
// repaired too, if less quickly.
func TestDriftWhileBusy(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	a, spare := w.Pod(t, "a", "net"), world.NewNetns(t, "spare")
	stop, done := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		for stop.Err() == nil {
			_, err := w.Attach(ctx, w.Request(spare, "net"))
			_, err2 := w.Detach(ctx, heddle.EndpointID{Container: "spare", IfName: "eth0"})
			if errors.Join(err, err2) != nil {
				ended <- errors.Join(err, err2)
				return
			}
		}
		ended <- nil
	}()
	time.Sleep(200 * time.Millisecond)
	w.Host.Sh(t, "ip link del %s", a.Port())
	// the patrol comes by less often where comparing takes long
	took := world.Within(t, 5*time.Minute*min(world.Slowness, 2), "the pair is back", func() error { return w.Host.Ping(a.V4(), "-W0.3") })
	t.Logf("back after %v", took.Round(time.Millisecond))
	done()
	cell.Must(t, <-ended)
}
