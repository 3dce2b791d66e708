package service

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic/remote"
)

// serving is a world whose service answers on a loopback address.
type serving struct {
	*world
	state  *State
	server *Server
	addr   string
	stop   func() error
}

func serve(t *testing.T, w *world, host string) *serving {
	t.Helper()
	state, err := OpenState(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Skip("no such address here: ", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	server := NewServer(w.service(), state, slog.New(slog.DiscardHandler))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, l) }()
	stop := sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return &serving{w, state, server, l.Addr().String(), stop}
}

func (s *serving) grant(t *testing.T, machine string) remote.Grant {
	t.Helper()
	g, err := s.state.Grant(machine, s.addr)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// client is a machine's, by a new grant.
func (s *serving) client(t *testing.T, machine string) *remote.Client {
	return remote.New(s.grant(t, machine))
}

func refused(t *testing.T, what string, err error, code heddle.Code) {
	t.Helper()
	if !errors.Is(err, code.Sentinel()) {
		t.Errorf("%s: %v, not %s", what, err, code)
	}
	var e *heddle.Error
	if errors.As(err, &e) && (e.Op == "" || e.Cause == "" || e.Remedy == "") {
		t.Errorf("%s: %#v lacks operation, cause or remedy", what, e)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
