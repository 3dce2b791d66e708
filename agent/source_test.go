package agent

import (
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/ipam"
)

// TestSourceIsTold: the paths to other hosts name the host's own address of a network, so they follow at
// once when it is chosen or goes with its block, and only then.
func TestSourceIsTold(t *testing.T) {
	l, err := openLedger(t.TempDir(), t.TempDir(), "boot")
	if err != nil {
		t.Fatal(err)
	}
	n := heddle.Network{ID: "n1", Name: "net", Subnets: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")}}
	bs := &blocks{host: &hostView{}, ledger: l, viewAgain: make(chan struct{}, 1)}
	pool := ipam.NewPool(n)
	for _, step := range []struct {
		block string
		told  bool
	}{{"10.9.1.0/24", true}, {"10.9.1.0/24", false}, {"10.9.2.0/24", true}} {
		block := []netip.Prefix{netip.MustParsePrefix(step.block)}
		pool.SetBlocks(block, nil)
		bs.mu.Lock()
		bs.chooseSourceLocked(n.ID, pool, n.Subnets[0], block)
		bs.mu.Unlock()
		if own := bs.ownSources(); len(own) != 1 || !block[0].Contains(own[0].Addr) {
			t.Fatalf("%s: %v", step.block, own)
		}
		select {
		case <-bs.viewAgain:
			if !step.told {
				t.Errorf("%s: told, and nothing has changed", step.block)
			}
		default:
			if step.told {
				t.Errorf("%s: not told", step.block)
			}
		}
	}
}
