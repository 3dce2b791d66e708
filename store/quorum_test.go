package store_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
	"github.com/heddle-network/heddle/test/soak"
)

func addrPort(a net.Addr) netip.AddrPort { return a.(*net.TCPAddr).AddrPort() }

// three makes an embedded cluster of three members, that are not started.
func three(t *testing.T, a *authority) []*embedded {
	initial := map[string]string{}
	var all []*embedded
	for _, name := range []string{"one", "two", "three"} {
		k := newEmbedded(t, 0, a)
		k.options.Name, k.options.Initial = name, initial
		initial[name] = "https://" + k.options.Peer[0].String()
		all = append(all, k)
	}
	return all
}

// TestQuorum takes one member away, then two, and brings them back.
func TestQuorum(t *testing.T) {
	soak.Turn(t, 1)
	t.Parallel()
	a := newAuthority(t)
	members := three(t, a)
	var endpoints []string
	for _, m := range members {
		m.start()
		endpoints = append(endpoints, m.endpoint())
	}
	s := dialOptions(t, store.Options{Endpoints: endpoints, TLS: a.client(t, "host-a", time.Hour), Patience: 10 * time.Second})
	health(t, s, "ok")
	m := follow(t, s, "/q/", nil)
	quit, counted := make(chan struct{}), make(chan int, 1)
	go func() { counted <- count(t, patient{s}, "/q/count", quit) }()
	progress := func(what string) {
		t.Helper()
		at := number(read(t, patient{s}, "/q/count").Entries[0])
		m.wait(t, what, func(m *mirror) bool { return number(m.entries["/q/count"]) > at+3 })
	}
	m.wait(t, "counting begins", func(m *mirror) bool { return number(m.entries["/q/count"]) > 0 })

	lost := leader(t, s, members)
	lost.stop()
	progress("counting goes on without the leader")
	members = slices.DeleteFunc(members, func(m *embedded) bool { return m == lost })
	until(t, "the member that is away shows", func() (bool, any) { h := s.Health(); return up(h) == 2 && h.State == "ok", h })

	second := leader(t, s, members) // not the one that was stopped, which a late answer may show
	second.stop()
	noticed := health(t, s, "down")
	_, _, err := s.Commit(t.Context(), store.Change{Put: put("/q/other", "1")})
	if !errors.Is(err, heddle.StoreDown.Sentinel()) {
		t.Errorf("a change without a quorum: %v", err)
	}
	if _, err := s.Read(t.Context(), "/q/"); !errors.Is(err, heddle.StoreDown.Sentinel()) {
		t.Errorf("a read without a quorum: %v", err)
	}
	second.start()
	back := health(t, s, "ok")
	progress("counting goes on with the quorum")
	t.Logf("loss of the quorum noticed after %v, its return after %v", noticed.Round(time.Millisecond), back.Round(time.Millisecond))
	lost.start()
	began := time.Now()
	<-lost.server.Ready()
	ready := time.Since(began)
	took := until(t, "all members are up", func() (bool, any) { h := s.Health(); return up(h) == 3 && h.State == "ok", h })
	t.Logf("the lost member was ready after %v, seen %v later", ready.Round(time.Millisecond), took.Round(time.Millisecond))
	close(quit)
	if n, now := <-counted, read(t, patient{s}, "/q/count"); n != number(now.Entries[0]) {
		t.Errorf("counted to %d, the store has %+v", n, now)
	}
	m.agrees(t, s, "/q/")
}

// TestCloseWithoutQuorum stops a member that waits for others: at its first start,
// and when the others have gone.
func TestCloseWithoutQuorum(t *testing.T) {
	t.Parallel()
	members := three(t, newAuthority(t))
	one := members[0]
	for range 2 {
		one.start()
		select {
		case <-one.server.Ready():
			t.Fatal("one member of three serves")
		case <-time.After(100 * time.Millisecond):
		}
		closes(t, one)
	}
	for _, m := range members {
		m.start()
	}
	for _, m := range members {
		select {
		case <-m.server.Ready():
		case <-time.After(time.Minute):
			t.Fatalf("member %s is not ready", m.options.Name)
		}
	}
	for _, m := range members {
		closes(t, m)
	}
	one.start() // with data of its own, and a vote
	closes(t, one)
}

// closes has a member stop within the time that an agent has for that.
func closes(t *testing.T, m *embedded) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- m.server.Close() }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second): // half a second, as a rule
		t.Fatalf("member %s does not stop", m.options.Name)
	}
}

// patient repeats calls that the store did not answer: a read always, a change never, since it may
// have been made.
type patient struct{ *store.Etcd }

func (p patient) Read(ctx context.Context, prefix string) (store.Snapshot, error) {
	for range 10 {
		if s, err := p.Etcd.Read(ctx, prefix); !errors.Is(err, heddle.StoreDown.Sentinel()) {
			return s, err
		}
	}
	return p.Etcd.Read(ctx, prefix)
}

func up(h store.Health) (n int) {
	for _, m := range h.Members {
		if m.Up {
			n++
		}
	}
	return n
}

// leader returns the member that leads, once there is one.
func leader(t *testing.T, s store.Store, members []*embedded) (found *embedded) {
	t.Helper()
	until(t, "there is a leader", func() (bool, any) {
		h := s.Health()
		for _, m := range h.Members {
			if m.Role != "leader" || !m.Up {
				continue
			}
			for _, e := range members {
				if e.options.Name == m.Name {
					found = e
				}
			}
		}
		return found != nil && h.State == "ok", h
	})
	return found
}
