package modes_test

import (
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// wantDefault asks for the default route, or for none.
func wantDefault(on bool) world.PodOption {
	return func(r *heddle.AttachRequest) { r.DefaultRoute = &on }
}

// leadsThrough fails the test unless the container has one default route of each
// family, through the interface (none if it is "").
func leadsThrough(t *testing.T, p world.Netns, ifname string) {
	t.Helper()
	for _, version := range []string{"-4", "-6"} {
		got := strings.TrimSpace(p.Sh(t, "ip %s route show default", version))
		switch {
		case ifname == "" && got == "":
		case ifname == "" || strings.Contains(got, "\n") || !strings.Contains(got, " dev "+ifname):
			t.Errorf("default route %s: want through %q, have %q", version, ifname, got)
		}
	}
}

// TestDefaultRoute: a running container gets second and third networks of every
// mode; which one carries its default route is chosen, moves when asked, passes
// on when its holder leaves, and survives a restart of the agent.
func TestDefaultRoute(t *testing.T) {
	w := world.New(t)
	w.Network(t, "first", "bridge")
	w.Network(t, "second", "routed", world.With("masquerade=true"))
	w.Network(t, "third", "macvlan", onLAN)
	w.Network(t, "closed", "bridge", world.Internal)
	a := world.NewNetns(t, "a")
	a.Sh(t, "true")
	closed := w.PodIn(t, a, "closed", world.As("eth9"))
	leadsThrough(t, a, "") // an internal network carries none
	first := w.PodIn(t, a, "first")
	leadsThrough(t, a, "eth0")
	second := first.Join(t, "second", world.As("eth1"), wantDefault(true))
	if !second.DefaultRoute {
		t.Errorf("the reply says %+v", second)
	}
	leadsThrough(t, a, "eth1")
	a.Reaches(t, beyondAddrs...)
	third := first.Join(t, "third", world.As("eth2"))
	leadsThrough(t, a, "eth1")
	a.Reaches(t, outsideAddrs...)

	w.Restart(t, nil)
	leadsThrough(t, a, "eth1")
	_, err := w.Detach(ctx, second.ID) // passes to the oldest
	cell.Must(t, err)
	leadsThrough(t, a, "eth0")
	_, err = w.Attach(ctx, w.Request(a, "third", world.As("eth2"), wantDefault(true))) // moves to one that is there
	cell.Must(t, err)
	leadsThrough(t, a, "eth2")
	a.Reaches(t, beyondAddrs...)
	_, err = w.Attach(ctx, w.Request(a, "third", world.As("eth2"), wantDefault(false)))
	cell.Must(t, err)
	leadsThrough(t, a, "eth0")
	_, err = w.Attach(ctx, w.Request(a, "closed", world.As("eth9"), wantDefault(true)))
	wantCode(t, err, heddle.BadOption)
	_, err = w.Detach(ctx, first.Endpoint.ID) // the third wants none, the other cannot
	cell.Must(t, err)
	leadsThrough(t, a, "")
	for _, e := range w.Endpoints() {
		if e.DefaultRoute {
			t.Errorf("%s has the default route by the record", e.ID)
		}
	}
	_, _ = closed, third
}

// TestDefaultRouteFault: an attach that fails at any step after it took the
// default route gives it back.
func TestDefaultRouteFault(t *testing.T) {
	w := world.New(t)
	w.Network(t, "first", "bridge")
	w.Network(t, "second", "routed")
	a := w.Pod(t, "a", "first")
	request := w.Request(a.Netns, "second", world.As("eth1"), wantDefault(true))
	for n := 1; ; n++ {
		left := n
		w.TripAt(func(string) error {
			if left--; left == 0 {
				return errFault
			}
			return nil
		})
		_, err := w.Attach(ctx, request)
		w.TripAt(nil)
		if err == nil {
			leadsThrough(t, a.Netns, "eth1")
			t.Logf("%d steps", n-1)
			break
		}
		leadsThrough(t, a.Netns, "eth0")
		w.AuditEmpty(t)
		if t.Failed() {
			t.Fatalf("at step %d", n)
		}
	}
	_, err := w.Detach(ctx, request.ID)
	cell.Must(t, err)
	leadsThrough(t, a.Netns, "eth0")
}
