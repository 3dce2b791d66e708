package machines_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/soak"
)

const manyConfig = `listen: 172.31.240.11:7950
machines:
  vm1: {qmp: /run/qmp/vm1, networks: [lan], nics: 128}
`

// TestSoakManyNICs: 128 containers of a machine get a NIC each, all at once, and let go of it.
func TestSoakManyNICs(t *testing.T) {
	soak.Need(t, "plugs 128 NICs into an emulated machine")
	const count = 128
	p := raisePlugged(t, "6.12", manyConfig, count)
	own := p.devices(t)
	createPlugged(t, p.vm, "fast", "lan")
	p.vm.Run(t, "sh", "-c", fmt.Sprintf("for i in $(seq %d); do ip netns add n$i; done", count))
	memory := func() string {
		return p.vm.Run(t, "sh", "-c", "grep -E 'MemAvailable|Slab' /proc/meminfo | tr -s ' \\n' ' '")
	}
	before := memory()
	// all does something for each container, at once, and logs how long each took.
	all := func(what string, do func(ctx context.Context, name string) error) {
		t.Helper()
		took := make([]time.Duration, count)
		var each sync.WaitGroup
		start := time.Now()
		for i := range count {
			each.Go(func() {
				begun := time.Now()
				for tries := 0; ; tries++ { // a request waits for a minute at most
					err := do(t.Context(), fmt.Sprint("n", i+1))
					if err == nil {
						break
					}
					if tries == 20 {
						t.Errorf("%s n%d: %v", what, i+1, err)
						break
					}
				}
				took[i] = time.Since(begun)
			})
		}
		each.Wait()
		slices.Sort(took)
		t.Logf("%s: %d in %.1f s; each %.1f s at the median, %.1f s at most", what, count, time.Since(start).Seconds(), took[count/2].Seconds(), took[count-1].Seconds())
	}
	all("attached", func(ctx context.Context, name string) error {
		_, err := p.vm.Client.Attach(ctx, heddle.AttachRequest{Network: "fast", ID: heddle.EndpointID{Container: name, IfName: "eth0"}, Netns: "/run/netns/" + name})
		return err
	})
	if n := p.devices(t); n != own+count {
		t.Errorf("%d devices, %d before", n, own)
	}
	seen := map[string]bool{}
	for _, mac := range p.nics(t) {
		seen[mac] = true
	}
	if len(seen) != count {
		t.Errorf("%d MAC addresses", len(seen))
	}
	for i := range count {
		if err := p.ping(fmt.Sprint("n", i+1), "10.70.0.1"); err != nil {
			t.Error(err)
		}
	}
	t.Logf("memory before %s; with the NICs %s", before, memory())
	p.vm.Heddle(t, "audit")
	all("detached", func(ctx context.Context, name string) error {
		_, err := p.vm.Client.Detach(ctx, heddle.EndpointID{Container: name, IfName: "eth0"})
		return err
	})
	if n := p.devices(t); n != own {
		t.Errorf("%d devices, %d before", n, own)
	}
	t.Logf("memory afterwards %s", memory())
	p.clean(t)
}
