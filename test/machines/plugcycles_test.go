package machines_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// plugCycles is the short form of TestSoakPlugCycles.
func plugCycles(t *testing.T, p *plugged, own int) {
	p.cycles(t, own, 2, 2)
}

const cyclesConfig = `listen: 172.31.240.11:7950
machines:
  vm1: {qmp: /run/qmp/vm1, networks: [lan], nics: 6}
`

// TestSoakPlugCycles: 500 containers are attached and detached, four at once, while agents, the service and the machine are killed.
func TestSoakPlugCycles(t *testing.T) {
	soak.Need(t, "500 cycles take most of an hour")
	p := raisePlugged(t, "6.12", cyclesConfig, 8)
	own := p.devices(t)
	createPlugged(t, p.vm, "fast", "lan")
	p.hv.Run(t, "ip", "netns", "add", "beside")
	p.hv.Heddle(t, "attach", "lan", "--netns", "/run/netns/beside", "--id", "beside", "--ip", "10.70.0.200")
	p.cycles(t, own, 125, 4)
}

// cycles attaches and detaches so many containers at once, again and again, while agents and the service are killed at any moment. Every second one is
// on a network that has a pool. No NIC is lost or left.
func (p *plugged) cycles(t *testing.T, own, cycles, atOnce int) {
	p.createPooled(t)
	random := rand.New(rand.NewPCG(soak.Seed(t), 0))
	names := make([]string, atOnce)
	for i := range names {
		names[i] = fmt.Sprint("y", i)
	}
	for cycle := range cycles {
		p.makeNamespaces(t, names)
		p.disturbed(t, random, names, "attach", func(i int) error {
			_, err := p.vm.TryHeddle(t, "attach", []string{"fast", "pooled"}[i%2], "--netns", "/run/netns/"+names[i], "--id", names[i])
			return err
		})
		for _, name := range names {
			world.Soon(t, name+" reaches another container", func() error { return p.ping(name, "10.70.0.200") })
		}
		p.disturbed(t, random, names, "detach", func(i int) error {
			_, err := p.vm.TryHeddle(t, "detach", names[i])
			return err
		})
		for _, name := range names {
			p.vm.Run(t, "ip", "netns", "delete", name)
		}
		if t.Failed() {
			t.Fatalf("in cycle %d", cycle)
		}
	}
	p.vm.Heddle(t, "network", "delete", "pooled")
	p.left(t, own)
	p.clean(t)
}

func (p *plugged) makeNamespaces(t *testing.T, names []string) {
	t.Helper()
	for _, name := range names {
		p.vm.TryRun("ip", "netns", "add", name)
	}
}

func (p *plugged) createPooled(t *testing.T) {
	t.Helper()
	createPlugged(t, p.vm, "pooled", "lan", "--opt", "warm=1-2")
}

// reset has the machine lose its power, and brings it to where it was, with namespaces.
func (p *plugged) reset(t *testing.T, names []string) {
	t.Helper()
	cell.Must(t, p.lab.Reset(t.Context(), p.vm.Name()))
	p.startAgent(t, p.vm)
	createPlugged(t, p.vm, "fast", "lan")
	p.createPooled(t)
	p.makeNamespaces(t, names)
}

// disturbed has something killed while do is under way for all containers at once, starts it again, and repeats what failed until it succeeds. The
// namespaces are there when do begins.
func (p *plugged) disturbed(t *testing.T, random *rand.Rand, names []string, what string, do func(i int) error) {
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
		victims = append(victims, func() { p.reset(t, names) })
	}
	victim, after := random.IntN(len(victims)), time.Duration(random.IntN(700))*time.Millisecond
	errs := make([]error, len(names))
	var all sync.WaitGroup
	for i := range names {
		all.Go(func() { errs[i] = do(i) })
	}
	time.Sleep(after)
	victims[victim]()
	all.Wait()
	t.Logf("%s, with victim %d after %v: %v", what, victim, after, errs)
	for i, err := range errs {
		if victim == reset { // what was done before is not there any more
			err = do(i)
		}
		for tries := 0; err != nil; tries++ {
			if tries == 20 {
				cell.Must(t, err)
			}
			time.Sleep(200 * time.Millisecond)
			err = do(i)
		}
	}
}
