package fleet_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/world"
)

// TestLeaveAndReturn has a host leave its cluster with containers running, give out
// addresses that other hosts have, and come back: the network is the cluster's
// again only when no endpoint has an address that is not the host's to give.
func TestLeaveAndReturn(t *testing.T) {
	f := newCluster(t, 2)
	f.network(t, "app", "10.10.0.0/24", "fd10::/64")
	first, here := f.hosts[0].attach(t, "first", "app"), f.hosts[1].attach(t, "here", "app")
	here.finds(t, first.addrs()...)
	h := f.hosts[1]
	h.kill(t)
	h.start(t, "--store", "none")
	twin := h.attach(t, "twin", "app", world.IP(first.addrs()[0].String()))
	twin.Reaches(t, here.addrs()[0])
	h.kill(t)
	h.start(t, "--store", "embedded", "--underlay", "eth0")
	world.Within(t, 2*time.Minute, "the status says why the network is this host's alone", func() error {
		st, err := h.Status(context.Background())
		if st.Part("tunnels").State == "warn" {
			return nil
		}
		return fmt.Errorf("%v: %w", st.Parts, err)
	})
	first.Reaches(t, f.lab.Switches[0].Addr4)
	twin.detach(t)
	world.Within(t, 2*time.Minute, "the network is the cluster's again", func() error { return here.Ping(first.addrs()[0], "-W1") })
	here.Reaches(t, first.addrs()...)
	first.Reaches(t, here.addrs()...)
	here.detach(t)
	first.detach(t)
}

// TestLonelyWithoutStore has a host come back to its cluster with a network that
// the cluster cannot take; then the store goes away. What is to be tried again
// waits for the store to be back, and nobody on the host waits with it.
func TestLonelyWithoutStore(t *testing.T) {
	f := newCluster(t, 2)
	h := f.hosts[1]
	h.kill(t)
	h.start(t, "--store", "none")
	h.cli(t, "network", "create", "own", "--mode", "overlay", "--subnet", "10.30.0.0/24")
	f.hosts[0].cli(t, "network", "create", "other", "--mode", "overlay", "--subnet", "10.30.0.0/24")
	h.kill(t)
	h.start(t, "--store", "embedded", "--underlay", "eth0")
	lonely := func(word string) func() error {
		return func() error {
			st, err := h.Status(context.Background())
			if detail := st.Part("tunnels").Detail; strings.Contains(detail, "network own is on this host alone") && strings.Contains(detail, word) {
				return nil
			}
			return fmt.Errorf("%v: %w", st.Parts, err)
		}
	}
	world.Within(t, time.Minute, "the network stays the host's", lonely("other"))
	f.hosts[0].kill(t)
	world.Within(t, time.Minute, "the store is not asked", lonely("share network own"))
	a := h.attach(t, "a", "own")
	a.detach(t)
	f.hosts[0].start(t)
	world.Within(t, time.Minute, "it is asked again", lonely("other"))
}
