package crash_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/havip"
	"github.com/heddle-network/heddle/policy"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
)

// TestKillWithHAVIP kills the agent while an address that a member may hold comes, is given to it and goes, and while the member is attached and detached: the
// address is there whole or not at all, and so is what the kernel has for it.
func TestKillWithHAVIP(t *testing.T) {
	soak.Turn(t, 1)
	cell.Need(t)
	four := havip.HAVIP{Name: "four", Network: "net", Address: netip.MustParseAddr("10.20.0.100"), Members: policy.Selector{Labels: map[string]string{"role": "lb"}},
		Ports: []heddle.PortMapping{{HostPort: 8081, ContainerPort: 80, Protocol: "tcp"}}}
	attach := func(a *cell.Agent, pod string) error {
		q := request("bridge", pod)
		q.Labels = map[string]string{"role": "lb"}
		_, err := a.Attach(ctx, q)
		return err
	}
	create := func(a *cell.Agent, _ string) error {
		_, err := a.CreateHAVIP(ctx, four, false)
		return err
	}
	assign := func(a *cell.Agent, _ string) error {
		_, err := a.AssignHAVIP(ctx, "four", request("bridge", "").ID, false)
		return err
	}
	prepare := func(with ...func(a *cell.Agent, pod string) error) func(*testing.T, *cell.Agent, string) {
		return func(t *testing.T, a *cell.Agent, pod string) {
			_, _, err := a.CreateNetwork(ctx, network("bridge"), false)
			cell.Must(t, err)
			for _, do := range with {
				cell.Must(t, do(a, pod))
			}
		}
	}
	clearAll := func(t *testing.T, a *cell.Agent) {
		all, err := a.HAVIPs(ctx)
		cell.Must(t, err)
		for _, h := range all {
			cell.Must(t, a.DeleteHAVIP(ctx, h.Name))
		}
		_, err = a.Detach(ctx, request("bridge", "").ID)
		cell.Must(t, err)
		if err := a.DeleteNetwork(ctx, "net"); err != nil && !errors.Is(err, heddle.NoNetwork.Sentinel()) {
			t.Error(err)
		}
	}
	for _, op := range []operation{
		{"create", prepare(attach), create, clearAll, nil, 3},
		{"assign", prepare(attach, create), assign, clearAll, nil, 2},
		{"delete", prepare(attach, create, assign), func(a *cell.Agent, _ string) error { return a.DeleteHAVIP(ctx, "four") }, clearAll, nil, 3},
		{"attach", prepare(create), attach, clearAll, nil, 8},
		{"detach", prepare(attach, create, assign), func(a *cell.Agent, _ string) error {
			_, err := a.Detach(ctx, request("bridge", "").ID)
			return err
		}, clearAll, nil, 8},
	} {
		t.Run(op.name, func(t *testing.T) {
			if op.name == "attach" || op.name == "detach" {
				soak.Need(t, "their steps are much the same without an address")
			}
			killAtEveryStep(t, op)
		})
	}
}
