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
	"github.com/heddle-network/heddle/door/docker/engine"
)

// dockerSide is what Docker has to do with the agent: the door that dockerd calls,
// and the engine that calls dockerd. The engine may be missing (--docker-host none).
type dockerSide struct {
	door    *docker.Server
	engine  *engine.Engine
	stop    context.CancelFunc
	running sync.WaitGroup
}

// serveDocker opens the door for Docker before the agent says that it is ready, since
// dockerd starts after that. If the door cannot be opened, the other doors still open,
// unless the configuration asks for Docker.
func serveDocker(c config, a *agent.Agent, log *slog.Logger, failed chan<- error) (*dockerSide, error) {
	if c.DockerSocket == "none" {
		return nil, nil
	}
	path := cmp.Or(c.DockerSocket, docker.DefaultSocket)
	s, err := newDockerSide(c, a, log)
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
	if s.engine != nil {
		a.Show(s.engine.Part)
		ctx, stop := context.WithCancel(context.Background())
		s.stop = stop
		s.running.Go(func() { s.engine.Run(ctx) })
	}
	return s, nil
}

func newDockerSide(c config, a *agent.Agent, log *slog.Logger) (s *dockerSide, err error) {
	s = &dockerSide{stop: func() {}}
	s.door, err = docker.NewServer(a, docker.Options{StateDir: c.StateDir, RunDir: c.RunDir, Log: log, Changed: func() {
		if s.engine != nil {
			s.engine.Wake()
		}
	}})
	if err == nil && c.DockerHost != "none" {
		s.engine, err = engine.New(a, s.door, engine.Options{Host: c.DockerHost, Driver: c.DockerDriver, Log: log})
	}
	return s, err
}

// close waits for Docker's calls under way, and for our calls to Docker.
func (s *dockerSide) close(ctx context.Context) error {
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
		err = errors.Join(err, heddle.Wrap(heddle.Waited, "end calls to", "dockerd", ctx.Err(), "start the agent again: it compares Docker's networks anew"))
	}
	return err
}
