package join

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/store"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
)

// hosts of a test are nodes in this process, on addresses of the loopback.
type hosts struct {
	*testing.T
	dir   string
	nodes map[int]*Node
}

func newHosts(t *testing.T) *hosts {
	cell.Need(t)
	h := &hosts{T: t, dir: t.TempDir(), nodes: map[int]*Node{}}
	t.Cleanup(func() {
		for i := range h.nodes {
			h.stop(i)
		}
	})
	return h
}

func (h *hosts) options(i int) Options {
	log, err := os.OpenFile(filepath.Join(h.dir, fmt.Sprintf("log%d", i)), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { log.Close() })
	return Options{Dir: filepath.Join(h.dir, fmt.Sprint(i)), Name: fmt.Sprintf("host%d", i), Underlay: []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, byte(i)})},
		Now: time.Now, Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
}

// open starts a host, and says as the cluster's agent would that it is alive.
func (h *hosts) open(o Options, i int) (*Node, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	n, err := Open(ctx, o)
	if err == nil {
		h.nodes[i] = n
	}
	return n, err
}

func (h *hosts) start(i int, with func(*Options)) *Node {
	h.Helper()
	o := h.options(i)
	if with != nil {
		with(&o)
	}
	n, err := h.open(o, i)
	if err != nil {
		text, _ := os.ReadFile(filepath.Join(h.dir, fmt.Sprintf("log%d", i)))
		h.Fatalf("host%d: %v\n%s", i, err, text)
	}
	return n
}

// stop ends a host's part, in a time that a service manager would grant.
func (h *hosts) stop(i int) {
	h.Helper()
	n, closed := h.nodes[i], make(chan error, 1)
	delete(h.nodes, i)
	go func() { closed <- n.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			h.Logf("close host%d: %v", i, err)
		}
	case <-time.After(80 * time.Second):
		text, _ := os.ReadFile(filepath.Join(h.dir, fmt.Sprintf("log%d", i)))
		stacks := make([]byte, 1<<20)
		h.Fatalf("host%d does not stop\n%s\n%s", i, text, stacks[:runtime.Stack(stacks, true)])
	}
}

// operator is an operator's access by a host that keeps the store, until the test ends.
func (h *hosts) operator(by int) *Operator {
	h.Helper()
	return h.closing(must(h.nodes[by].Operator(h.ctx(), nil)))
}

// asOperator has an operator do something, and closes his access: one that stays open asks the store for its state
// every second, and connects again whenever a host restarts.
func (h *hosts) asOperator(by int, do func(*Operator) error) error {
	h.Helper()
	o := must(h.nodes[by].Operator(h.ctx(), nil))
	defer o.Close()
	return do(o)
}

func (h *hosts) closing(o *Operator) *Operator {
	h.Cleanup(func() { o.Close() })
	return o
}

func (h *hosts) token(uses int) string {
	h.Helper()
	var text string
	err := h.asOperator(1, func(o *Operator) (err error) {
		text, _, _, err = o.Token(h.ctx(), time.Hour, uses)
		return err
	})
	if err != nil {
		h.Fatal(err)
	}
	return text
}

func (h *hosts) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	h.Cleanup(cancel)
	return ctx
}

// promote has hosts named as keepers, by one that is.
func (h *hosts) promote(by int, names ...string) {
	h.Helper()
	if err := h.asOperator(by, func(o *Operator) error { return o.Promote(h.ctx(), names) }); err != nil {
		h.Fatal(err)
	}
}

func (h *hosts) demote(by int, names ...string) {
	h.Helper()
	if err := h.asOperator(by, func(o *Operator) error { return o.Demote(h.ctx(), names) }); err != nil {
		h.Fatal(err)
	}
}

// join lets a host in and marks it alive.
func (h *hosts) join(i int, token string) *Node {
	h.Helper()
	n := h.start(i, func(o *Options) { o.Join, o.Token = "127.0.0.1", token })
	h.alive(i)
	return n
}

func (h *hosts) alive(i int) {
	h.Helper()
	key := fmt.Sprintf("%shosts/host%d/alive", cluster.Prefix, i)
	h.await(fmt.Sprintf("host%d to write", i), func() bool {
		_, _, err := h.nodes[i].Store().Commit(h.ctx(), store.Change{Put: []store.Entry{{Key: key, Value: []byte("x")}}})
		return err == nil
	})
}

func (h *hosts) await(what string, ok func() bool) {
	h.Helper()
	if _, err := poll.Until(3*time.Minute, 50*time.Millisecond, poll.True(ok)); err == nil {
		return
	}
	for i := range h.nodes {
		text, _ := os.ReadFile(filepath.Join(h.dir, fmt.Sprintf("log%d", i)))
		h.Logf("host%d\n%s", i, text)
	}
	h.Fatalf("waited in vain for %s", what)
}

// voters counts those with a vote, as one of the hosts sees it.
func (h *hosts) voters(by int) int {
	r, err := h.nodes[by].roster(h.ctx())
	if err != nil {
		return -1
	}
	s, err := r.state(h.ctx())
	if err != nil {
		return -1
	}
	voters, learners := s.votersAndLearners()
	if len(learners) > 0 {
		return -1
	}
	return len(voters)
}
