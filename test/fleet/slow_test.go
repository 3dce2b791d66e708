package fleet_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestSlowStore has the store fall silent while a network is being created there:
// what a host does for itself does not wait for that.
func TestSlowStore(t *testing.T) {
	f := newCluster(t, 3)
	f.network(t, "app", "10.10.0.0/24", "")
	f.membersVote(t, 3)
	ctx, h := context.Background(), f.hosts[0]
	for _, other := range []string{"host2", "host3"} {
		if err := f.lab.Pause(ctx, other, true); err != nil {
			t.Fatal(err)
		}
	}
	shared := make(chan string, 1)
	go func() {
		out, _ := h.tryCLI(t, "network", "create", "more", "--mode", "overlay", "--subnet", "10.12.0.0/24")
		shared <- out
	}()
	own := 0
	for ; len(shared) == 0; own++ {
		if _, _, err := h.CreateNetwork(ctx, heddle.Network{Name: "own", Mode: "bridge", Subnets: []netip.Prefix{netip.MustParsePrefix("10.50.0.0/24")}}, false); err != nil {
			t.Fatal(err)
		}
		if err := h.DeleteNetwork(ctx, "own"); err != nil {
			t.Fatal(err)
		}
	}
	if out := <-shared; !strings.Contains(out, "HDL-8") {
		t.Errorf("a network made while the store is silent: %s", out)
	}
	t.Logf("%d networks of this host alone were made meanwhile", own)
	if own < 5 {
		t.Error("they waited for the store")
	}
	for _, other := range []string{"host2", "host3"} {
		if err := f.lab.Continue(ctx, other); err != nil {
			t.Fatal(err)
		}
	}
	f.membersVote(t, 3)
}
