// Package docker is the door for Docker: the legacy plugin that implements the
// engine's NetworkDriver and IpamDriver (moby, libnetwork/docs/remote.md and
// ipam.md; engines 20.10 to the current ones).
//
//	dockerd ── POST /NetworkDriver.Join ──> heddle.sock ──> Server ──> agent
//
// The engine gives orders and waits: every call is answered within two seconds,
// whatever state the store is in, and no call asks the engine back, since it
// holds its own locks meanwhile. The engine replays nothing, so what it said and
// the agent does not record (which of its networks is which of ours, endpoints
// that nobody has joined yet) is in two folders of this door's own.
package docker

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
)

// DefaultSocket is where the engine finds a plugin called heddle.
const DefaultSocket = "/run/docker/plugins/heddle.sock"

// Options of a Server.
type Options struct {
	// StateDir is the folder for what survives a reboot, RunDir that for what
	// survives the agent.
	StateDir, RunDir string
	Log              *slog.Logger
	// Changed, if there is one, is called when Networks has changed.
	Changed func()
}

// Server answers engines.
type Server struct {
	agent     *agent.Agent
	log       *slog.Logger
	networks  *bindings
	endpoints *drafts
	http      *http.Server
	// calls are those under way, also those that the engine waits for no more.
	calls sync.WaitGroup
	// turns lets one such call at a time be under way, until it is over, and undone if it
	// was late: else what the same call makes again, or finds made, would go with it.
	turns agent.KeyedLocks[string]
}

// NewServer reads the door's records.
func NewServer(a *agent.Agent, opt Options) (*Server, error) {
	networks, err := openBindings(filepath.Join(opt.StateDir, "docker", "networks.json"), opt.Changed)
	if err != nil {
		return nil, err
	}
	endpoints, err := openDrafts(filepath.Join(opt.RunDir, "docker"))
	if err != nil {
		return nil, err
	}
	s := &Server{agent: a, log: opt.Log, networks: networks, endpoints: endpoints}
	s.http = &http.Server{Handler: s.routes(), ReadHeaderTimeout: limit}
	return s, nil
}

// Listen makes the socket, with the folder it is in: the engine may start later.
// A socket that an earlier life left is replaced, one on which somebody answers is
// not. It stays when the server ends, so that the engine, which looks for files,
// knows the plugin all the same.
func Listen(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, heddle.Wrap(heddle.BadArgument, "make folder of Docker's socket", path, err, "give another path with --docker-socket, or none")
	}
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		c.Close()
		return nil, heddle.Errorf(heddle.AgentRuns, "Docker's socket", path, "another agent answers there: give this one another path with --docker-socket, or none")
	}
	// made aside and renamed: whoever connects meets the old or the new one
	aside := path + ".new"
	if err := os.Remove(aside); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, heddle.Wrap(heddle.BadArgument, "make Docker's socket", path, err, "remove what is there")
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: aside, Net: "unix"})
	if err == nil {
		l.SetUnlinkOnClose(false)
		if err = os.Chmod(aside, 0o600); err == nil {
			err = os.Rename(aside, path)
		}
	}
	if err != nil {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
		return nil, heddle.Wrap(heddle.BadArgument, "listen for Docker on", path, err, "give another path with --docker-socket, or none")
	}
	return l, nil
}

// Serve answers on the listener until Shutdown.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown stops the server once its calls under way are done, also those that
// took longer than the engine was let wait.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	done := make(chan struct{})
	go func() { s.calls.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		err = errors.Join(err, ctx.Err())
	}
	return err
}

// limit bounds every answer: the engine waits 30 s for one, and stands still
// meanwhile.
const limit = 2 * time.Second
