package modes_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// TestLarge: a bridge network of more endpoints than one bridge has ports for,
// also where bridged frames pass the IP firewall.
func TestLarge(t *testing.T) {
	if world.Slowness > 1 {
		t.Skip("takes minutes where the processor is emulated")
	}
	large(t, 780)
}

// TestSoakLarge: the same with four bridges.
func TestSoakLarge(t *testing.T) {
	soak.Need(t, "the full-scale form")
	large(t, 2100)
}

// perBridge is the number of endpoints after which another bridge is made.
const perBridge = 768

func large(t *testing.T, size int) {
	w := world.New(t)
	n := w.Network(t, "net", "bridge")
	pods := crowd(t, w, size)
	last := (size - 1) / perBridge
	probes := []int{0, 5, perBridge - 1}
	for shard := 1; shard <= last; shard++ {
		probes = append(probes, shard*perBridge, min(shard*perBridge+7, size-1))
	}
	for name, nf := range map[string]bool{"plain": false, "nf": true} {
		t.Run(name, func(t *testing.T) {
			if !w.BridgeNF(t, nf) {
				t.Skip("this kernel has no br_netfilter")
			}
			everywhere(t, w, n, pods, probes)
			publishedOnLeaf(t, w, n, pods)
			leafIsNoRouter(t, w, n, pods[size-1], last)
			w.AuditEmpty(t)
		})
	}
	for shard := last; shard > 0; shard-- {
		emptyShard(t, w, n, pods, shard)
	}
	everywhere(t, w, n, pods, probes[:3])
}

// crowd attaches many containers one after the other, as a runtime does.
func crowd(t *testing.T, w *world.World, size int) []*world.Pod {
	t.Helper()
	namespaces := make([]world.Netns, size)
	begin := time.Now()
	for i := range namespaces {
		namespaces[i] = world.NewNetns(t, fmt.Sprint("c", i))
	}
	made := time.Now()
	pods := make([]*world.Pod, size)
	for i, p := range namespaces {
		pods[i] = w.PodIn(t, p, "net")
		if pods[i].Endpoint.Slot != i {
			t.Fatalf("endpoint %d has slot %d", i, pods[i].Endpoint.Slot)
		}
	}
	t.Logf("%d namespaces in %v, %d attaches in %v", size, made.Sub(begin).Round(time.Millisecond), size, time.Since(made).Round(time.Millisecond))
	return pods
}

// everywhere lets some containers reach each other and the world.
func everywhere(t *testing.T, w *world.World, n heddle.Network, pods []*world.Pod, probes []int) {
	t.Helper()
	for _, i := range probes {
		for _, j := range probes {
			if i != j {
				pods[i].Reaches(t, pods[j].Addrs()...)
			}
		}
		pods[i].Reaches(t, all(n.Gateways, outsideAddrs, beyondAddrs)...)
		w.Host.Reaches(t, pods[i].Addrs()...)
	}
}

// publishedOnLeaf: a port of a container on the last bridge is reached from
// everywhere, from its neighbours on that bridge and from itself too.
func publishedOnLeaf(t *testing.T, w *world.World, n heddle.Network, pods []*world.Pod) {
	t.Helper()
	p := w.Pod(t, "published", "net", world.Publish("8080:80/tcp"), world.Publish("8080:80/udp"))
	defer p.Leave(t)
	p.Serve(t, 80, p.Addrs()...)
	w.Outside.Gets(t, "published", 8080, hostAddrs...)
	w.Host.Gets(t, "published", 8080, all(hostAddrs, n.Gateways, []netip.Addr{loopback4})...)
	for _, caller := range []*world.Pod{pods[0], pods[len(pods)-1], p} {
		caller.Gets(t, "published", 8080, hostAddrs...)
	}
}

// leafIsNoRouter: the gateway is on the first bridge alone, and a container that
// sends to its own bridge's address gets nowhere.
func leafIsNoRouter(t *testing.T, w *world.World, n heddle.Network, p *world.Pod, shard int) {
	t.Helper()
	for _, gw := range n.Gateways {
		if got := p.Sh(t, "ip neighbour show to %s", gw); !strings.Contains(got, string(n.GatewayMAC())) {
			t.Errorf("%s has another address than %s: %s", gw, n.GatewayMAC(), got)
		}
		p.Sh(t, "ip neighbour replace %s lladdr %s dev eth0", gw, n.BridgeMAC(shard))
	}
	seen := w.Outside.Capture(t, "eth0")
	p.Silent(t, outsideAddrs...)
	for _, a := range p.Addrs() {
		if n := world.Count(seen.Stop(), world.Contains(string(a.AsSlice()))); n > 0 {
			t.Errorf("%d packets of %s reach the outside untranslated", n, a)
		}
	}
	for _, gw := range n.Gateways {
		p.Sh(t, "ip neighbour del %s dev eth0", gw)
	}
	p.Reaches(t, outsideAddrs...)
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
