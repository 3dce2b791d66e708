package modes_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/world"
)

// TestLarge: a bridge network of more endpoints than one bridge has ports for,
// also where bridged frames pass the IP firewall.
func TestLarge(t *testing.T) {
	if world.Slowness > 1 {
		t.Skip("takes minutes where the processor is emulated")
	}
	t.Run("plain", func(t *testing.T) { large(t, 780, false) })
	t.Run("nf", func(t *testing.T) { large(t, 780, true) })
}

// TestSoakLarge: the same with four bridges.
func TestSoakLarge(t *testing.T) {
	if os.Getenv("HEDDLE_SOAK") != "1" {
		t.Skip("the full-scale form; HEDDLE_SOAK=1 runs it")
	}
	large(t, 2100, false)
}

// perBridge is the number of endpoints after which another bridge is made.
const perBridge = 768

func large(t *testing.T, size int, nf bool) {
	w := world.New(t)
	if !w.BridgeNF(t, nf) {
		t.Skip("this kernel has no br_netfilter")
	}
	n := w.Network(t, "net", "bridge")
	pods := crowd(t, w, size)
	last := (size - 1) / perBridge
	probes := []int{0, 5, perBridge - 1}
	for shard := 1; shard <= last; shard++ {
		probes = append(probes, shard*perBridge, min(shard*perBridge+7, size-1))
	}
	everywhere(t, w, n, pods, probes, nf)
	w.AuditEmpty(t)
	for shard := last; shard > 0; shard-- {
		emptyShard(t, w, n, pods, shard)
	}
	everywhere(t, w, n, pods, probes[:3], nf)
}

// crowd attaches many containers one after the other, as a runtime does.
func crowd(t *testing.T, w *world.World, size int) []*world.Pod {
	t.Helper()
	places := make([]world.Place, size)
	begin := time.Now()
	for i := range places {
		places[i] = world.Namespace(t, fmt.Sprint("c", i))
	}
	made := time.Now()
	pods := make([]*world.Pod, size)
	for i, p := range places {
		pods[i] = w.PodIn(t, p, "net")
		if pods[i].Endpoint.Slot != i {
			t.Fatalf("endpoint %d has slot %d", i, pods[i].Endpoint.Slot)
		}
	}
	t.Logf("%d namespaces in %v, %d attaches in %v", size, made.Sub(begin).Round(time.Millisecond), size, time.Since(made).Round(time.Millisecond))
	return pods
}

// everywhere lets some containers reach each other and the world. With nf the
// one thing left out is what docs/modes/bridge.md says does not work: the way
// outside, over IPv6, from another bridge than the network's first.
func everywhere(t *testing.T, w *world.World, n heddle.Network, pods []*world.Pod, probes []int, nf bool) {
	t.Helper()
	for _, i := range probes {
		for _, j := range probes {
			if i != j {
				pods[i].Reaches(t, pods[j].Addrs()...)
			}
		}
		for _, there := range all(n.Gateways, outsideAddrs) {
			if limited := nf && i >= perBridge && there.Is6() && slices.Contains(outsideAddrs, there); !limited {
				pods[i].Reaches(t, there)
			}
		}
		w.Host.Reaches(t, pods[i].Addrs()...)
	}
}

// emptyShard detaches a shard's endpoints: bridge and trunk stay until the last
// one goes, and go with it.
func emptyShard(t *testing.T, w *world.World, n heddle.Network, pods []*world.Pod, shard int) {
	t.Helper()
	root, leaf := n.TrunkNames(shard)
	links := []string{n.BridgeName(shard), root, leaf}
	from, to := shard*perBridge, min((shard+1)*perBridge, len(pods))
	for _, p := range pods[from+1 : to] {
		p.Leave(t)
	}
	have := func() int {
		found := 0
		for line := range strings.Lines(w.Host.Sh(t, "ip -o link")) {
			for _, l := range links {
				if strings.Contains(line, ": "+l+":") || strings.Contains(line, ": "+l+"@") {
					found++
				}
			}
		}
		return found
	}
	if got := have(); got != len(links) {
		t.Errorf("%d links of shard %d while it has an endpoint, want %d", got, shard, len(links))
	}
	pods[from].Reaches(t, pods[0].Addrs()...)
	pods[from].Leave(t)
	if got := have(); got != 0 {
		t.Errorf("%d links of shard %d left after its last endpoint", got, shard)
	}
}
