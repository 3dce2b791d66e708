package attack_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestQuarantineKilled: what is in quarantine is so after a kill -9 of the agent, for a NIC
// and for a macvlan device; status and audit say so; and it is free when the hidden
// namespace has ended.
func TestQuarantineKilled(t *testing.T) {
	cell.Need(t)
	cell.Sh(t, "ip link set lo up; for n in nic1 up0; do ip link add $n type veth peer name far$n; ip link set $n up; ip link set far$n up; done")
	t.Cleanup(func() {
		cell.TrySh("ip link del farnic1") // which may have ended with the hidden namespace
		cell.TrySh("ip link del farup0")
	})
	dir, ctx := t.TempDir(), t.Context()
	a := cell.Start(t, dir)
	plan := (&world.World{}).Plan("lan", isMacvlan, func(n *heddle.Network) { n.Parent = "up0" })
	finds := map[string]func() *os.File{}
	// there say that the hidden namespace has not ended
	there := map[string]string{"whole": "ip link show dev farnic1"}
	for container, n := range map[string]heddle.Network{"whole": {Name: "wire", Mode: isDirect, Parent: "nic1"}, "part": plan} {
		_, _, err := a.CreateNetwork(ctx, n, false)
		cell.Must(t, err)
		id := heddle.EndpointID{Container: container, IfName: "eth0"}
		reply, err := a.Attach(ctx, heddle.AttachRequest{Network: n.Name, ID: id, Netns: cell.Netns(t, container), Force: true})
		cell.Must(t, err)
		ns := world.NewNetns(t, "secret-"+container)
		cell.Sh(t, "ip -n %s link set eth0 netns %s name own0 && ip -n %s link set own0 up", container, ns.Name, ns.Name)
		finds[container] = hide(t, ns)
		if container == "part" {
			there[container] = fmt.Sprintf("bridge fdb show dev up0 | grep %s", reply.Endpoint.MAC)
		}
		if _, err := a.Detach(ctx, id); err == nil || !strings.Contains(err.Error(), string(heddle.Quarantined)) {
			t.Errorf("detach of %s: %v", container, err)
		}
	}
	held := func(want int) error {
		found, err := a.Audit(ctx)
		cell.Must(t, err)
		s, err := a.Status(ctx)
		cell.Must(t, err)
		told, part := 0, s.Part("quarantine").Detail
		for _, f := range found {
			if f.Kind == "quarantine" {
				told++
			}
		}
		if told != want || len(found) != want || strings.Count(part, "/eth0") != want {
			return fmt.Errorf("want %d, audit: %+v, status: %q", want, found, part)
		}
		return nil
	}
	cell.Must(t, held(2))
	for range 2 {
		a.Kill()
		a = cell.Start(t, dir)
		cell.Must(t, held(2))
	}
	for container, find := range finds {
		cell.Must(t, find().Close())
		delete(finds, container)
		ended(t, container, there[container])
		world.Within(t, world.RepairTime, "the end of the quarantine of "+container, func() error { return held(len(finds)) })
	}
	all, err := a.Endpoints(ctx)
	cell.Must(t, err)
	if len(all) > 0 {
		t.Errorf("left: %+v", all)
	}
	for _, name := range []string{"wire", "lan"} {
		cell.Must(t, a.DeleteNetwork(ctx, name))
	}
	a.AuditEmpty(t)
}

// ended waits until the namespace in which a container's device was hidden has ended, so
// that the command fails. Until then the quarantine is right: an agent that
// searches just now may have it open.
func ended(t *testing.T, container, there string) {
	t.Helper()
	world.Within(t, world.RepairTime, "the end of the namespace of "+container, func() error {
		if out, err := cell.TrySh("%s", there); err == nil {
			return errors.New(out)
		}
		return nil
	})
}
