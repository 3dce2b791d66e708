package allocation_test

import (
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/store"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/soak"
)

// TestBrokenAgents runs agents that each lack one rule. If the checker accepts
// what they do, it proves nothing about those that keep all rules.
func TestBrokenAgents(t *testing.T) {
	soak.Turn(t, 1)
	for name, f := range map[string]flaws{
		"answers a want without setting the address aside": {noReserve: true},
		"uses a block before the claim is known":           {early: true},
		"gives out what it has lent":                       {ignoreLent: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1, 3, f)
			end := time.Now().Add(10 * time.Minute) // or the first breach
			w.run(2*time.Millisecond, func(int) bool { return time.Now().After(end) })
			takes, breaches := w.history.count()
			if len(breaches) == 0 || w.history.accepted(t) {
				t.Fatalf("not caught: %d allocations, breaches %v", takes, breaches)
			}
			t.Logf("caught after %d allocations: %s", takes, breaches[0])
		})
	}
}

// TestLateChange has a change arrive long after the agent that sent it was killed:
// it must come to nothing, for the address is in use again.
func TestLateChange(t *testing.T) {
	w := lateSend(t, flaws{})
	if _, breaches := w.history.count(); len(breaches) > 0 || !w.history.accepted(t) {
		t.Error(breaches)
	}
}

// TestLateChangeWithoutFence is TestLateChange by an agent that does not require
// its own record.
func TestLateChangeWithoutFence(t *testing.T) {
	w := lateSend(t, flaws{noFence: true})
	_, breaches := w.history.count()
	if len(breaches) == 0 || w.history.accepted(t) {
		t.Fatal("not caught")
	}
	t.Logf("caught: %s", breaches[0])
}

func lateSend(t *testing.T, f flaws) *world {
	w := newWorld(t, 1, 2, f)
	a, b, n := w.hosts[0], w.hosts[1], w.networks[0]
	id := a.newID()
	cell.Must(t, a.current().take(soon(t), n, netip.Addr{}, id))
	addr := a.leases[id].addr
	a.kill()

	var mu sync.Mutex
	var held []store.Change
	w.late = func(c store.Change) bool {
		mu.Lock()
		defer mu.Unlock()
		is := len(held) == 0 && len(c.Put) > 0 && strings.Contains(c.Put[0].Key, "/answers/")
		if is {
			held = append(held, c)
		}
		return is
	}
	w.revive(a)
	first := a.current()
	until(t, "the host holds its block", func() bool { return first.cluster.View().Revision > 0 && len(first.cluster.View().Blocks) == 1 })
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		first.move(soon(t), id, b.name)
	}()
	until(t, "the change is under way", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(held) == 1
	})
	a.kill()
	<-sent
	w.moveTime = time.Minute // the other host has to be in time for the late change
	w.revive(a)
	until(t, "the address came back", func() bool {
		v := a.current().cluster.View()
		return v.Revision > 0 && len(v.Lent) == 0
	})
	cell.Must(t, a.current().take(soon(t), n, addr, a.newID()))

	done, revision, err := w.operator.Commit(soon(t), held[0])
	cell.Must(t, err)
	t.Logf("the late change is made: %v", done)
	until(t, "the other host has seen it", func() bool { return b.current().cluster.View().Revision >= revision || !done })
	for _, m := range b.current().cluster.View().Moves {
		cell.Must(t, b.current().take(soon(t), n, m.Addr, m.Endpoint))
	}
	return w
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	poll.For(t, 5*time.Minute, 5*time.Millisecond, what, ok)
}

// TestRemovedWhileAsleep removes a host between its decision to claim a block and
// the claim.
func TestRemovedWhileAsleep(t *testing.T) {
	w := newWorld(t, 1, 2, flaws{})
	a, b, n := w.hosts[0].current(), w.hosts[1].current(), w.networks[0]
	until(t, "the host has the network", func() bool { return len(a.cluster.View().Networks) == len(w.networks) })
	a.gate.pause()
	result := make(chan error)
	go func() {
		_, err := a.cluster.ClaimBlock(soon(t), n, n.Subnets[0], netip.Addr{})
		result <- err
	}()
	cell.Must(t, b.cluster.RemoveHost(soon(t), w.operator, "h0", true))
	a.gate.resume()
	if err := <-result; !errors.Is(err, heddle.HostRemoved.Sentinel()) {
		t.Fatalf("its claim gives %v", err)
	}
	s, err := w.operator.Read(soon(t), cluster.Prefix+"blocks/")
	cell.Must(t, err)
	if len(s.Entries) > 0 {
		t.Errorf("it has claimed %v", s.Entries)
	}
}
