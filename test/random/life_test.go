package random_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"pgregory.net/rapid"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/kernel/fake"
	"github.com/heddle-network/heddle/mode"
)

// world is a host with an agent, and the model of both.
type world struct {
	t     *rapid.T
	done  *counts
	host  *fake.Host
	dir   string
	modes []heddle.Mode
	life  *life
	// rand is what an operation is made of; rapid draws its seed.
	rand *rand.Rand
	model
}

// life is one of the agent's lives.
type life struct {
	*agent.Agent
	mu      sync.Mutex
	opening bool
	// left is how many steps there are until it is killed; 0 for never.
	left int
	dead bool
	// refuse is how many steps there are until one is refused; 0 for never.
	refuse int
}

var errKilled, errRefused = errors.New("the agent was killed"), errors.New("the step is refused")

// step is called before each step. Who is killed does not go on: a goroutine ends there,
// with nothing undone. Only what opens an agent is refused all further steps instead,
// for somebody has to close its files.
func (l *life) step(string) error {
	l.mu.Lock()
	if l.left > 0 {
		if l.left--; l.left == 0 {
			l.dead = true
		}
	}
	refused := l.refuse == 1
	l.refuse = max(0, l.refuse-1)
	dead, opening := l.dead, l.opening
	l.mu.Unlock()
	switch {
	case dead && opening:
		return errKilled
	case dead:
		runtime.Goexit()
	case refused:
		return errRefused
	}
	return nil
}

// killAfter has the life end at the n-th step from now.
func (l *life) killAfter(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left = n
}

// refuseAt has the n-th step from now be refused.
func (l *life) refuseAt(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse = n
}

func (l *life) isDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// patrol is how often the agent compares its host with the plans.
const patrol = 30 * time.Second

// facts are those of the host.
func facts() heddle.HostFacts {
	return heddle.HostFacts{Name: "h", BootID: "boot", Kernel: "fake", Links: []heddle.LinkFact{uplink}}
}

func newWorld(t *rapid.T, done *counts) *world {
	w := &world{t: t, done: done, host: fake.NewHost(facts()), dir: folder(), modes: mode.All(), model: newModel()}
	for _, p := range w.paths() {
		w.host.Begin(p)
		w.alive[p] = true
	}
	w.must(w.begin(0))
	return w
}

// begin begins a life, which is killed after so many steps. The first comparison belongs to its beginning.
func (w *world) begin(killedAfter int) error {
	l := &life{opening: true, left: killedAfter}
	open := func(h agent.Hooks) (agent.Machine, error) {
		k := w.host.Open()
		k.Tripwire, k.Wanted = h.Tripwire, h.Wanted
		return agent.Machine{PlanApplier: k, Namespaces: k, LinkEnds: k, HostReader: k, NICs: k, LostNICs: k, LAN: k, Connections: k, FastPath: k, Watcher: k, Listener: k,
			Firewalls: fake.Gates{}, Listen: func(heddle.PortMapping) error { return nil }, Close: k.Close}, nil
	}
	a, err := agent.New(agent.Options{StateDir: filepath.Join(w.dir, "state"), RunDir: filepath.Join(w.dir, "run"), Root: w.dir,
		Modes: w.modes, Machine: open, Patrol: patrol, Untried: true, Tripwire: l.step})
	if err == nil {
		<-a.Compared()
	}
	l.mu.Lock()
	l.opening = false
	l.mu.Unlock()
	l.Agent, w.life = a, l
	return err
}

// close ends the life's goroutines and lets go of its files. A dead one writes nothing.
func (w *world) close() {
	if w.life == nil || w.life.Agent == nil {
		return
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = w.life.Close()
	}()
	<-closed
}

// end throws the world away.
func (w *world) end() {
	w.close()
	os.RemoveAll(w.dir)
}

// do does something as a client, in a goroutine of its own, which ends with the agent.
func (w *world) do(what func(*agent.Agent)) {
	w.done.besides.Add(1)
	over := make(chan struct{})
	go func() {
		defer close(over)
		what(w.life.Agent)
	}()
	<-over
}

// pick draws a number below n.
func (w *world) pick(n int) int { return w.rand.IntN(n) }

func oneOf[T any](w *world, all []T) T { return all[w.pick(len(all))] }

// must stops the history.
func (w *world) must(err error) {
	if err != nil {
		w.t.Fatal(err)
	}
}

// restart ends the agent, and begins another life.
func (w *world) restart() {
	w.close()
	w.must(w.begin(0))
	w.compare()
}

// jump lets time pass: addresses that were given back can be had again, and the patrol
// comes by.
func (w *world) jump() {
	d := oneOf(w, []time.Duration{time.Millisecond, time.Second, 2 * patrol, 3 * time.Minute})
	w.t.Logf("%s pass", d)
	time.Sleep(d)
	w.lostSome = w.lostSome && d < 2*patrol
}

// jumpFor lets the patrol come by.
func (w *world) jumpFor() {
	time.Sleep(2 * patrol)
	w.lostSome = false
}
