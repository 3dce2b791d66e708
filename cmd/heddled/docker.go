package main

import (
	"context"
	"log/slog"

	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/door/docker"
)

// serveDocker opens the door for Docker before the agent says that it is ready:
// dockerd starts after that. Nobody who has not asked for it is kept from the
// other doors if it cannot be opened.
func serveDocker(c config, a *agent.Agent, log *slog.Logger, failed chan<- error) (*docker.Server, error) {
	if c.DockerSocket == "none" {
		return nil, nil
	}
	path := c.DockerSocket
	if path == "" {
		path = docker.DefaultSocket
	}
	s, err := docker.NewServer(a, docker.Options{StateDir: c.StateDir, RunDir: c.RunDir, Log: log})
	if err != nil {
		return nil, err
	}
	l, err := docker.Listen(path)
	switch {
	case err != nil && c.DockerSocket == "":
		log.Warn("Docker is not served", "error", err)
		return nil, nil
	case err != nil:
		return nil, err
	}
	log.Info("Docker is served", "socket", path)
	go func() { failed <- s.Serve(l) }()
	return s, nil
}

// closeDocker waits for the calls of Docker's that are under way.
func closeDocker(ctx context.Context, s *docker.Server) error {
	if s == nil {
		return nil
	}
	return s.Shutdown(ctx)
}
