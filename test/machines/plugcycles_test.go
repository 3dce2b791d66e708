package machines_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// plugCycles attaches and detaches, while agents and the service are killed at any moment, to a network without a pool and to one with a
// pool in turn. No NIC is lost or left.
func plugCycles(t *testing.T, p *plugged, own int) {
	cycles := 4
	if soak.On() {
		cycles = 500
	}
	p.createPooled(t)
	random := rand.New(rand.NewPCG(soak.Seed(t), 0))
	for i := range cycles {
		name := fmt.Sprint("y", i%3)
		p.vm.TryRun("ip", "netns", "add", name)
		p.disturbed(t, random, name, "attach", func() error {
			_, err := p.vm.TryHeddle(t, "attach", []string{"fast", "pooled"}[i%2], "--netns", "/run/netns/"+name, "--id", name)
			return err
		})
		world.Soon(t, name+" reaches another container", func() error { return p.ping(name, "10.70.0.200") })
		p.disturbed(t, random, name, "detach", func() error {
			_, err := p.vm.TryHeddle(t, "detach", name)
			return err
		})
		p.vm.Run(t, "ip", "netns", "delete", name)
		if t.Failed() {
			t.Fatalf("in cycle %d", i)
		}
	}
	p.vm.Heddle(t, "network", "delete", "pooled")
	p.left(t, own)
	p.clean(t)
}

func (p *plugged) createPooled(t *testing.T) {
	t.Helper()
	p.vm.Heddle(t, "network", "create", "pooled", "--mode", "direct", "--opt", "plug=lan", "--opt", "warm=1-2")
}

// reset has the machine lose its power, and brings it to where it was, with a namespace.
func (p *plugged) reset(t *testing.T, name string) {
	t.Helper()
	cell.Must(t, p.lab.Reset(t.Context(), p.vm.Name()))
	p.startAgent(t, p.vm)
	p.createFast(t, p.vm)
	p.createPooled(t)
	p.vm.Run(t, "ip", "netns", "add", name)
}

// disturbed has something killed while do is under way, starts it again, and repeats do until it succeeds. The namespace is there when do begins.
func (p *plugged) disturbed(t *testing.T, random *rand.Rand, name, what string, do func() error) {
	t.Helper()
	victims := []func(){
		func() {
			p.vm.KillAgent(t)
			p.vm.StartAgent(t)
		},
		func() {
			p.stop()
			p.serve()
		},
		func() {
			p.hv.KillAgent(t)
			p.hv.StartAgent(t)
		},
		func() {},
	}
	if p.virt != nil {
		victims = append(victims, func() {
			p.virt.Kill()
			p.virt.Restart()
		})
	}
	reset := -1
	if soak.On() { // a boot takes long
		reset = len(victims)
		victims = append(victims, func() { p.reset(t, name) })
	}
	victim, after := random.IntN(len(victims)), time.Duration(random.IntN(700))*time.Millisecond
	done := make(chan error, 1)
	go func() { done <- do() }()
	time.Sleep(after)
	victims[victim]()
	err := <-done
	t.Logf("%s, with victim %d after %v: %v", what, victim, after, err)
	if victim == reset { // what was done before is not there any more
		err = do()
	}
	for tries := 0; err != nil; tries++ {
		if tries == 20 {
			cell.Must(t, err)
		}
		time.Sleep(200 * time.Millisecond)
		err = do()
	}
}
