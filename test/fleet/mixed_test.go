package fleet_test

import (
	"fmt"
	"testing"

	"github.com/heddle-network/heddle/test/soak"
)

// TestMixed joins a network of all hosts with networks that a host has to itself,
// named first and second: what that host has of both talks, either way. What is on
// other hosts has no part in it.
func TestMixed(t *testing.T) {
	soak.Turn(t, 1)
	f := newCluster(t, 2)
	f.network(t, "app", "10.10.0.0/24", "fd10::/64")
	h := f.hosts[0]
	app, far := h.attach(t, "app", "app"), f.hosts[1].attach(t, "far", "app")
	pods := []*pod{app, far}
	for i, order := range [][]string{{"app", "one"}, {"two", "app"}} {
		name := order[1-i]
		h.cli(t, "network", "create", name, "--mode", "bridge", "--subnet", fmt.Sprintf("10.4%d.0.0/24", i), "--subnet", fmt.Sprintf("fd4%d::/64", i))
		local := h.attach(t, name, name)
		pods = append(pods, local)
		local.Silent(t, append(app.addrs(), far.addrs()...)...)
		app.Silent(t, local.addrs()...)
		far.Silent(t, local.addrs()...)
		h.cli(t, append([]string{"network", "allow"}, order...)...)
		local.finds(t, app.addrs()...)
		app.Reaches(t, local.addrs()...)
		local.Silent(t, far.addrs()...)
		far.Silent(t, local.addrs()...)
		far.finds(t, app.addrs()...)
	}
	h.kill(t)
	h.start(t)
	for _, local := range pods[2:] {
		local.Reaches(t, app.addrs()...)
		app.Reaches(t, local.addrs()...)
	}
	pods[2].Silent(t, pods[3].addrs()...)
	for _, p := range pods {
		p.detach(t)
	}
	h.cli(t, "network", "delete", "one")
	h.cli(t, "network", "delete", "two")
	h.deleted(t, "app")
}
