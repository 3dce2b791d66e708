// Package world makes the cell's host look like a host with an uplink, a network outside, and
// containers, and runs an agent on it. Nothing is simulated: the outside and the containers are
// network namespaces, and all packets between them pass through the kernel.
//
//	pod ═══ hd… ── host ── up0 (MTU 1400) ═══ eth0 ── outside
//	               192.0.2.1, 2001:db8::1    192.0.2.2, 2001:db8::2
//	                                         203.0.113.9 and 2001:db8:f::9 beyond
package world

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/mode"
	"github.com/heddle-network/heddle/test/cell"
)

// UplinkMTU is the uplink's MTU, which networks take over.
const UplinkMTU = 1400

// The addresses of the host's uplink, of the outside at its other end, and of a host beyond,
// to which only the default route leads.
var (
	Host4, Host6       = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	Outside4, Outside6 = netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("2001:db8::2")
	Beyond4, Beyond6   = netip.MustParseAddr("203.0.113.9"), netip.MustParseAddr("2001:db8:f::9")
)

// World is a host with its surroundings and its agent.
type World struct {
	*agent.Agent
	Host, Outside Netns
	options       agent.Options
	log           logBook
	subnets       int
	mu            sync.Mutex
	tripwire      func(step string) error
}

// New makes a world for the length of the test. At its end everything is
// detached and deleted, and neither the agent nor the system's own tools may
// find anything left.
func New(t testing.TB, options ...func(*agent.Options)) *World {
	t.Helper()
	cell.Need(t)
	w := &World{Host: Netns{Name: "host"}, Outside: NewNetns(t, "outside")}
	w.Host.setUp(t)
	w.wire(t)
	w.options = agent.Options{Name: "host", StateDir: t.TempDir(), RunDir: t.TempDir(),
		Modes: mode.All(), Root: t.TempDir(), Untried: true,
		Log: slog.New(slog.NewTextHandler(&w.log, nil)), Tripwire: w.step}
	for _, change := range options {
		change(&w.options)
	}
	w.Start(t)
	t.Cleanup(func() { w.end(t) })
	return w
}

// Watching makes the agent repair only what it notices by watching the kernel: its periodic
// check does not run during a test.
func Watching(o *agent.Options) { o.Patrol = time.Hour }

// Start starts an agent on the world's folders, and waits until it has compared the host with its
// plans.
func (w *World) Start(t testing.TB) {
	t.Helper()
	w.Begin(t)
	<-w.Compared()
}

// Begin starts an agent, and does not wait.
func (w *World) Begin(t testing.TB) {
	t.Helper()
	a, err := agent.New(w.options)
	if err != nil {
		t.Fatalf("start the agent: %v", err)
	}
	w.Agent = a
}

// Restart ends the agent, calls meanwhile, and starts another agent.
func (w *World) Restart(t testing.TB, meanwhile func()) {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Errorf("close the agent: %v", err)
	}
	if meanwhile != nil {
		meanwhile()
	}
	w.Start(t)
}

// Change changes the options of the next agent.
func (w *World) Change(f func(*agent.Options)) { f(&w.options) }

// TripAt sets the function that the agent calls before every step. An error of it stops the agent there.
func (w *World) TripAt(f func(step string) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tripwire = f
}

func (w *World) step(name string) error {
	w.mu.Lock()
	f := w.tripwire
	w.mu.Unlock()
	if f == nil {
		return nil
	}
	return f(name)
}

// end removes everything and checks that nothing is left.
func (w *World) end(t testing.TB) {
	w.TripAt(nil)
	var errs []error
	for _, e := range w.Endpoints() {
		_, err := w.Detach(context.Background(), e.ID)
		errs = append(errs, err)
	}
	for _, h := range w.HAVIPs() {
		_, err := w.DeleteHAVIP(h.Name, false)
		errs = append(errs, err)
	}
	for _, n := range w.Networks() {
		errs = append(errs, w.DeleteNetwork(n.Name))
	}
	w.AuditEmpty(t)
	NoTrace(t)
	if err := errors.Join(append(errs, w.Close())...); err != nil {
		t.Errorf("take the world down: %v", err)
	}
	if t.Failed() {
		t.Logf("the agent's log:\n%s", w.log.String())
	}
}

// AuditEmpty fails the test if the agent finds anything left over, missing or
// half done.
func (w *World) AuditEmpty(t testing.TB) {
	t.Helper()
	found, err := w.Audit()
	if err != nil {
		t.Errorf("audit: %v", err)
	}
	for _, f := range found {
		t.Errorf("audit: %+v", f)
	}
}

// Logged returns what the agent has logged until now.
func (w *World) Logged() string { return w.log.String() }

// logBook collects the agent's log.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
