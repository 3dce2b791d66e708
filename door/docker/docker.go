// Package docker is the door for Docker: the legacy plugin that implements the
// engine's NetworkDriver and IpamDriver (moby, libnetwork/docs/remote.md and
// ipam.md; engines 20.10 to the current ones).
//
//	dockerd ── POST /NetworkDriver.Join ──> heddle.sock ──> Server ──> agent
//
// The engine waits for every answer and holds its own locks meanwhile. So every call is
// answered within two seconds, whatever state the store is in (but for a LAN's DHCP server, which may
// take longer), and no call calls the engine. The engine repeats nothing after a restart. So this door has two folders for
// what the agent does not record: which network of the engine is which of ours, and the
// endpoints that nobody has joined yet.
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
	// Changed, if set, is called when Networks has changed.
	Changed func()
}

// Server answers engines.
type Server struct {
	agent     *agent.Agent
	log       *slog.Logger
	networks  *bindings
	endpoints *pendingEndpoints
	http      *http.Server
	// calls are those under way, including those for which the engine has stopped waiting.
	calls sync.WaitGroup
	// callLocks allow one call with the same name and body at a time, until it is finished, and
	// undone if it was late. Otherwise the undoing could remove what a repeated call has
	// made or found.
	callLocks agent.KeyedLocks[string]
}

// NewServer reads the door's records.
func NewServer(a *agent.Agent, opt Options) (*Server, error) {
	networks, err := openBindings(filepath.Join(opt.StateDir, "docker", "networks.json"), opt.Changed)
	if err != nil {
		return nil, err
	}
	endpoints, err := openPendingEndpoints(filepath.Join(opt.RunDir, "docker"))
	if err != nil {
		return nil, err
	}
	s := &Server{agent: a, log: opt.Log, networks: networks, endpoints: endpoints}
	s.http = &http.Server{Handler: s.routes(), ReadHeaderTimeout: answerTime}
	return s, nil
}

// Listen makes the socket and its folder, since the engine may start later. It replaces a
// socket that an earlier process left, but not one on which somebody answers. The socket
// stays when the server ends: the engine looks for the file, and so still knows the
// plugin.
func Listen(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, heddle.Wrap(heddle.BadArgument, "make folder of socket", path, err,
			"give another path with --docker-socket, or none")
	}
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		c.Close()
		return nil, heddle.Errorf(heddle.AgentRuns, "listen on socket", path, "another agent answers there",
			"give this agent another path with --docker-socket, or none")
	}
	// Created under another name and renamed: a client reaches either the old or the new
	// one.
	temporary := path + ".new"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, heddle.Wrap(heddle.BadArgument, "remove old socket", temporary, err, "remove the file by hand")
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: temporary, Net: "unix"})
	if err == nil {
		l.SetUnlinkOnClose(false)
		if err = os.Chmod(temporary, 0o600); err == nil {
			err = os.Rename(temporary, path)
		}
	}
	if err != nil {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
		return nil, heddle.Wrap(heddle.BadArgument, "listen on socket", path, err,
			"give another path with --docker-socket, or none")
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

// Shutdown stops the server when its calls under way are done, including those that took
// longer than the engine's waiting time.
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

const (
	// answerTime bounds every answer but one: the engine waits up to 30 s for one, and is blocked
	// meanwhile.
	answerTime = 2 * time.Second
	// CreateTime bounds the answer to CreateNetwork. A person waits for it, nothing else of the
	// engine's does, and the first network of a mode takes a trial of the mode.
	CreateTime = 10 * time.Second
	// leaseTime bounds the answer to CreateEndpoint, which may wait for a LAN's DHCP server. The engine holds up nothing but that
	// network meanwhile.
	leaseTime = 12 * time.Second
	// reasonTime is how long a method may take to say why it did not come to its end in time.
	reasonTime = answerTime / 20
)

// timeFor is the time for a call, less what its reason, reading and writing take.
func timeFor(call string) time.Duration {
	limit := answerTime
	switch call {
	case "CreateNetwork":
		limit = CreateTime
	case "CreateEndpoint":
		limit = leaseTime
	}
	return limit - answerTime/10
}
