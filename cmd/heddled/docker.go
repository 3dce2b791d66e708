package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/door/docker"
	"github.com/heddle-network/heddle/door/docker/reconcile"
)

// dockerService is the door that dockerd calls, and the reconciler that calls dockerd.
// The reconciler is nil with --docker-host none.
type dockerService struct {
	door       *docker.Server
	reconciler *reconcile.Reconciler
	stop       context.CancelFunc
	running    sync.WaitGroup
}

// serveDocker opens the door for Docker before the agent says that it is ready, since
// dockerd starts after that. If the door cannot be opened, the other doors still open,
// unless the configuration asks for Docker.
func serveDocker(c config, a *agent.Agent, log *slog.Logger, failed chan<- error) (*dockerService, error) {
	if c.DockerSocket == "none" {
		return nil, nil
	}
	path := cmp.Or(c.DockerSocket, docker.DefaultSocket)
	s, err := newDockerService(c, a, log)
	var l net.Listener
	if err == nil {
		l, err = docker.Listen(path)
	}
	switch {
	case err != nil && c.DockerSocket == "":
		log.Warn("Docker is not served", "error", err)
		return nil, nil
	case err != nil:
		return nil, err
	}
	s.door.Sweep()
	log.Info("Docker is served", "socket", path)
	a.Show(s.door.Part)
	go func() { failed <- s.door.Serve(l) }()
	if s.reconciler != nil {
		a.Show(s.reconciler.Part)
		ctx, stop := context.WithCancel(context.Background())
		s.stop = stop
		s.running.Go(func() { s.reconciler.Run(ctx) })
	}
	return s, nil
}

func newDockerService(c config, a *agent.Agent, log *slog.Logger) (s *dockerService, err error) {
	s = &dockerService{stop: func() {}}
	s.door, err = docker.NewServer(a, docker.Options{StateDir: c.StateDir, RunDir: c.RunDir, Log: log, Changed: func() {
		if s.reconciler != nil {
			s.reconciler.Wake()
		}
	}})
	if err == nil && c.DockerHost != "none" {
		s.reconciler, err = reconcile.New(a, s.door, reconcile.Options{Host: c.DockerHost, Driver: c.DockerDriver, Log: log})
	}
	return s, err
}

// close waits for Docker's calls under way, and for our calls to Docker.
func (s *dockerService) close(ctx context.Context) error {
	if s == nil {
		return nil
	}
	s.stop()
	err := s.door.Shutdown(ctx)
	done := make(chan struct{})
	go func() { s.running.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		err = errors.Join(err, heddle.Wrap(heddle.Waited, "end calls to", "dockerd", ctx.Err(),
			"start the agent again: it compares Docker's networks anew"))
	}
	return err
}
