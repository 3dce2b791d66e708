package crash_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/soak"
)

// TestKillWithEngine kills the agent before every step of the life of an endpoint
// whose link an engine moves itself.
func TestKillWithEngine(t *testing.T) {
	cell.Need(t)
	lan(t)
	for _, mode := range soak.OneOf(t, "bridge", "routed", "macvlan") {
		for _, op := range handovers(mode) {
			t.Run(mode+"/"+op.name, func(t *testing.T) { killAtEveryStep(t, op) })
		}
	}
}

func handovers(mode string) []operation {
	id := heddle.EndpointID{Container: "c1", IfName: "eth"}
	create := func(t *testing.T, a *cell.Agent, _ string) {
		_, _, err := a.CreateNetwork(ctx, network(mode), false)
		cell.Must(t, err)
	}
	attach := func(a *cell.Agent, pod string) error {
		_, err := a.Attach(ctx, heddle.AttachRequest{Network: "net", ID: id, Netns: pod, Handover: true})
		return err
	}
	offer := func(t *testing.T, a *cell.Agent, pod string) {
		create(t, a, pod)
		cell.Must(t, attach(a, pod))
	}
	take := func(a *cell.Agent) error {
		if out, err := cell.TrySh(`ip link set %[1]s netns pod && ip -n pod link set %[1]s name eth0 && ip -n pod link set eth0 up`, id.HandName()); err != nil {
			return errors.New(out)
		}
		return noticed(a, id)
	}
	clearAll := func(t *testing.T, a *cell.Agent) {
		_, err := a.Detach(ctx, id)
		cell.Must(t, err)
		cell.Must(t, a.DeleteNetwork(ctx, "net"))
	}
	taken := func(t *testing.T, a *cell.Agent, pod string) {
		offer(t, a, pod)
		cell.Must(t, take(a))
	}
	return []operation{
		{"offer", create, attach, clearAll, nil, 0},
		{"take", offer, func(a *cell.Agent, _ string) error { return take(a) }, clearAll, nil, 2},
		{"detach", taken, func(a *cell.Agent, _ string) error { _, err := a.Detach(ctx, id); return err }, clearAll, nil, 0},
		{"leave", taken, func(a *cell.Agent, _ string) error { return leave(a, id, "Leave", "DeleteEndpoint") }, clearAll, nil, 0},
		{"detach offered", offer, func(a *cell.Agent, _ string) error { _, err := a.Detach(ctx, id); return err }, clearAll, nil, 0},
	}
}

// noticed waits until the agent knows where the link is, or is dead.
func noticed(a *cell.Agent, id heddle.EndpointID) error {
	_, err := poll.Until(3*time.Minute, 20*time.Millisecond, func() error {
		all, err := a.Endpoints(ctx)
		if err != nil {
			return poll.Final(err)
		}
		for _, e := range all {
			if e.ID == id && e.Inside == "eth0" {
				return nil
			}
		}
		return fmt.Errorf("%s is not known to be taken", id)
	})
	return err
}

// leave is what Docker says when a container goes: it is answered before the link is
// gone. Then this waits until it is, or the agent is dead.
func leave(a *cell.Agent, id heddle.EndpointID, calls ...string) error {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", "/run/docker/plugins/heddle.sock")
	}
	docker := http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	for _, call := range calls {
		answer, err := docker.Post("http://plugin/NetworkDriver."+call, "application/json", strings.NewReader(`{"NetworkID":"n","EndpointID":"`+id.Container+`"}`))
		if err != nil {
			return err
		}
		answer.Body.Close()
	}
	_, err := poll.Until(3*time.Minute, 20*time.Millisecond, func() error {
		if all, err := a.Endpoints(ctx); err != nil || len(all) == 0 {
			return poll.Final(err)
		}
		return fmt.Errorf("%s does not go", id)
	})
	return err
}
