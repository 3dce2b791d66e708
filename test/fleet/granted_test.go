package fleet_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// TestMigrateGranted has a host join with a network of its own: it is the cluster's
// when an operator lets the host write networks, and its endpoint stays.
func TestMigrateGranted(t *testing.T) {
	soak.Turn(t, 2)
	f := newFleet(t, 2)
	first, h := f.hosts[0], f.hosts[1]
	first.start(t, "--store", "embedded", "--underlay", "eth0")
	h.start(t, "--underlay", "eth0")
	h.cli(t, "network", "create", "own", "--mode", "overlay", "--subnet", "10.10.0.0/24")
	old := h.attach(t, "old", "own")
	h.kill(t)
	f.join(t, h)
	world.Within(t, 2*time.Minute, "the status says why it is this host's alone", func() error {
		st, err := h.Status(context.Background())
		for _, p := range st.Parts {
			if strings.Contains(p.Detail, string(heddle.NotGranted)) && strings.Contains(p.Detail, "heddle host grant host2 networks") {
				return nil
			}
		}
		return fmt.Errorf("%v: %w", st.Parts, err)
	})
	first.cli(t, "host", "grant", "host2", "networks")
	world.Within(t, 2*time.Minute, "the network is on the other host", func() error {
		_, err := first.Network(context.Background(), "own")
		return err
	})
	far := first.attach(t, "far", "own")
	far.finds(t, old.addrs()...)
	first.cli(t, "host", "revoke", "host2", "networks")
	near := h.attach(t, "near", "own") // which needs no right
	near.finds(t, far.addrs()...)
	for _, p := range []*pod{far, near, old} {
		p.detach(t)
	}
	if out, err := h.tryCLI(t, "network", "delete", "own"); err == nil || !strings.Contains(out, string(heddle.NotGranted)) {
		t.Errorf("deleted by a host that may not: %v %s", err, out)
	}
	first.deleted(t, "own")
	for _, dry := range []string{"", "--dry-run"} { // which tells what would be refused
		args := strings.Fields("network create more --mode overlay --subnet 10.11.0.0/24 " + dry)
		if out, err := h.tryCLI(t, args...); err == nil || !strings.Contains(out, string(heddle.NotGranted)) {
			t.Errorf("%v by a host that may not: %v %s", args, err, out)
		}
	}
	first.cli(t, "network", "create", "more", "--mode", "overlay", "--subnet", "10.11.0.0/24", "--dry-run")
}
