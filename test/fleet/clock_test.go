package fleet_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/soak"
)

// TestClocks has hosts whose clocks are an hour apart, before and behind: they
// become a cluster, whose networks, moves and leases do not follow clocks.
func TestClocks(t *testing.T) {
	soak.Turn(t, 2)
	hosts := plainHosts(3)
	for i, ahead := range []string{"", "1h", "-1h"} {
		if ahead != "" {
			hosts[i].Agent.Environment = map[string]string{lab.ClockVariable: ahead}
		}
	}
	f := raise(t, lab.Topology{Name: "clocks", Hosts: hosts})
	f.hosts[0].start(t, "--store", "embedded", "--underlay", "eth0")
	f.join(t, f.hosts[1:]...)
	f.promote(t)
	f.network(t, "app", "10.10.0.0/24", "fd10::/64")
	pods := f.onePod(t, "app")
	noTwins(t, pods)
	meet(t, pods)
	t.Run("move", func(t *testing.T) {
		f.hosts[1].cli(t, "endpoint", "move", "p2", "--to", "host3")
		moved := f.hosts[2].attach(t, "p2", "app")
		if fmt.Sprint(moved.addrs()) != fmt.Sprint(pods[1].addrs()) {
			t.Errorf("before %v, after %v", pods[1].addrs(), moved.addrs())
		}
		pods[0].finds(t, moved.addrs()...)
		pods[1] = moved
	})
	t.Run("jump", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := f.lab.SetClock(ctx, "host1", 2*time.Hour); err != nil {
			t.Fatal(err)
		}
		f.membersVote(t, 3)
		late := f.hosts[0].attach(t, "late", "app")
		noTwins(t, append(pods, late))
		late.finds(t, pods[2].addrs()...)
		late.detach(t)
	})
	f.everywhere(t, "no part of the status is bad", func(h *host) error {
		st, err := h.Status(context.Background())
		for _, p := range st.Parts {
			if p.State == "bad" {
				return fmt.Errorf("%s: %s", p.Name, p.Detail)
			}
		}
		return err
	})
	for _, p := range pods {
		p.detach(t)
	}
}
