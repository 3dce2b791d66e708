package service

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic/remote"
	"github.com/heddle-network/heddle/test/poll"
)

// watched is what a watch that goes on returns.
type watched struct {
	now string
	err error
}

// watch returns what the machine's NICs are now, and begins a watch for another state.
func watch(t *testing.T, c *remote.Client) (now string, next <-chan watched) {
	t.Helper()
	now, err := c.Watch(ctx, "")
	must(t, err)
	ended := make(chan watched, 1)
	go func() {
		now, err := c.Watch(ctx, now)
		ended <- watched{now, err}
	}()
	return now, ended
}

// changedFrom waits until a watch has ended, with another state.
func changedFrom(t *testing.T, what, before string, next <-chan watched) {
	t.Helper()
	select {
	case got := <-next:
		if got.err != nil || got.now == before {
			t.Errorf("%s: state %s, %v; before %s", what, got.now, got.err, before)
		}
	case <-time.After(10 * time.Second):
		t.Errorf("%s: the machine is not told", what)
	}
}

// TestWatch: a machine is told at once of what it, another machine, or somebody on the hypervisor does with its NICs, and of nothing else.
func TestWatch(t *testing.T) {
	s := serve(t, newWorld(), "127.0.0.1")
	a, b := s.client(t, "a"), s.client(t, "b")
	before, next := watch(t, a)
	_, err := a.Plug(ctx, order("x"))
	must(t, err)
	changedFrom(t, "plugged", before, next)

	before, next = watch(t, a)
	_, err = b.Plug(ctx, order("other"))
	must(t, err)
	s.changed <- portChange{machine: "b"}
	select {
	case got := <-next:
		t.Errorf("a is told of b's NIC: %+v, before %s", got, before)
	case <-time.After(300 * time.Millisecond):
	}
	before = onlyState(t, a, before)
	beforeB, nextB := watch(t, b)
	must(t, a.Permit(ctx, "x", "b", "y"))
	changedFrom(t, "permitted", before, next)
	changedFrom(t, "permitted", beforeB, nextB)

	_, err = b.Plug(ctx, over())
	must(t, err)
	before, next = watch(t, a)
	must(t, b.Confirm(ctx, "y"))
	changedFrom(t, "confirmed", before, next)

	before, next = watch(t, b)
	port := s.ports["tap1"]
	must(t, s.Remove(ctx, port))
	s.changed <- portChange{machine: "b", gone: true}
	changedFrom(t, "removed by hand", before, next)
	if _, err := poll.Until(10*time.Second, 10*time.Millisecond, func() error {
		if got := s.world.state(); got != "b/other, b=tap2" {
			return heddle.Errorf(heddle.NotPlugged, "look at", "world", got, "")
		}
		return nil
	}); err != nil {
		t.Error("the device of a port that was removed by hand stays: ", err)
	}
}

// onlyState is the machine's state, which is still as it was.
func onlyState(t *testing.T, c *remote.Client, was string) string {
	t.Helper()
	now, err := c.Watch(ctx, "")
	if err != nil || now != was {
		t.Errorf("state %s, %v; before %s", now, err, was)
	}
	return now
}

// TestWatchEnds: a machine has two watches at most. The service does not wait for them when it ends.
func TestWatchEnds(t *testing.T) {
	s := serve(t, newWorld(), "127.0.0.1")
	a := s.client(t, "a")
	before, one := watch(t, a)
	two := make(chan watched, 1)
	if _, err := poll.Until(10*time.Second, time.Millisecond, func() error { // watch's own may not have begun
		go func() {
			now, err := a.Watch(ctx, before)
			if err == nil {
				two <- watched{now, err}
			}
		}()
		_, err := a.Watch(ctx, "")
		if err == nil {
			return heddle.Errorf(heddle.Waited, "watch", "a", "it is let in", "")
		}
		refused(t, "third watch", err, heddle.Waited)
		return nil
	}); err != nil {
		t.Error(err)
	}
	if _, err := s.client(t, "b").Watch(ctx, ""); err != nil {
		t.Error("another machine's watch: ", err)
	}
	began := time.Now()
	must(t, s.stop())
	for _, c := range []<-chan watched{one, two} {
		if got := <-c; got.err != nil || got.now != before {
			t.Errorf("%+v, before %s", got, before)
		}
	}
	if took := time.Since(began); took > watchTime/2 {
		t.Errorf("with watches, the service took %v to end", took)
	}
}

// TestWatchTime: without a change a watch ends after a while, with the same state. The machine's part in the offer is a state, too.
func TestWatchTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := w.service()
		before, err := s.Watch(ctx, "a", "")
		must(t, err)
		began := time.Now()
		now, err := s.Watch(ctx, "a", before)
		if took := time.Since(began); err != nil || now != before || took != watchTime {
			t.Errorf("state %s, %v, after %v; before %s", now, err, took, before)
		}
		w.slots = 1
		if now, err := s.Watch(ctx, "a", before); err != nil || now == before {
			t.Errorf("with fewer slots: state %s, %v; before %s", now, err, before)
		}
		_, err = s.Watch(ctx, "c", "")
		refused(t, "unknown machine", err, heddle.BadArgument)
	})
}
