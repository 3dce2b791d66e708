package crash_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
)

// second is the container's second network, which takes the default route over.
func second(pod string) heddle.AttachRequest {
	on := true
	return heddle.AttachRequest{Network: "more", ID: heddle.EndpointID{Container: "c1", IfName: "eth1"}, Netns: pod, DefaultRoute: &on}
}

// TestKillWhileDefaultRouteMoves: the agent is killed at every step of an attach
// that takes the default route over, and of the detach that gives it back. The
// container has one default route afterwards, where the record says.
func TestKillWhileDefaultRouteMoves(t *testing.T) {
	soak.Turn(t, 1)
	cell.Need(t)
	both := func(t *testing.T, a *cell.Agent, pod string) {
		for name, subnet := range map[string]string{"net": "10.20.0.0/24", "more": "10.21.0.0/24"} {
			_, _, err := a.CreateNetwork(ctx, heddle.Network{Name: name, Mode: "routed", Subnets: []netip.Prefix{netip.MustParsePrefix(subnet)}}, false)
			cell.Must(t, err)
		}
		_, err := a.Attach(ctx, request("routed", pod))
		cell.Must(t, err)
	}
	clear := func(t *testing.T, a *cell.Agent) {
		oneDefault(t, a)
		_, err := a.Detach(ctx, second("").ID)
		cell.Must(t, err)
		oneDefault(t, a)
		_, err = a.Detach(ctx, request("routed", "").ID)
		cell.Must(t, err)
		cell.Must(t, a.DeleteNetwork(ctx, "net"))
		cell.Must(t, a.DeleteNetwork(ctx, "more"))
	}
	attach := func(a *cell.Agent, pod string) error {
		_, err := a.Attach(ctx, second(pod))
		return err
	}
	t.Run("attach", func(t *testing.T) {
		killAtEveryStep(t, operation{name: "attach", prepare: both, run: attach, clear: clear})
	})
	t.Run("detach", func(t *testing.T) {
		prepare := func(t *testing.T, a *cell.Agent, pod string) {
			both(t, a, pod)
			cell.Must(t, attach(a, pod))
		}
		killAtEveryStep(t, operation{name: "detach", prepare: prepare, run: func(a *cell.Agent, _ string) error {
			_, err := a.Detach(ctx, second("").ID)
			return err
		}, clear: clear})
	})
}

// oneDefault compares the container's default routes with the records.
func oneDefault(t *testing.T, a *cell.Agent) {
	t.Helper()
	holder := ""
	all, err := a.Endpoints(ctx)
	cell.Must(t, err)
	for _, e := range all {
		if e.DefaultRoute {
			holder += e.ID.IfName
		}
	}
	got := strings.TrimSpace(cell.Sh(t, "ip -n pod route show default"))
	if holder == "" || strings.Contains(got, "\n") || !strings.Contains(got, " dev "+holder+" ") {
		t.Errorf("the record says %q, the container has %q", holder, got)
	}
}
