// Command heddled is the agent of one host: it reads its configuration, connects the
// packages and serves the doors.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/door"
	"github.com/heddle-network/heddle/door/api"
	"github.com/heddle-network/heddle/door/cni"
	"github.com/heddle-network/heddle/door/netavark"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	started := false
	command := newCommand(func(ctx context.Context, c config) error {
		started = true
		return run(ctx, c)
	})
	if err := command.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "heddled:", heddle.Visible(err.Error(), true))
		code := int(heddle.KindOf(err))
		var known *heddle.Error
		if !started && !errors.As(err, &known) {
			code = int(heddle.Usage)
		}
		os.Exit(code)
	}
}

// run opens the cluster, serves until the context ends, and leaves all networks in place.
func run(ctx context.Context, c config) error {
	log, err := c.logger(os.Stderr)
	if err == nil {
		err = enterVPC(c.VPC)
	}
	if err != nil {
		return err
	}
	member, err := openMembership(ctx, c, log)
	if err != nil {
		return err
	}
	err = serve(ctx, c, member, log)
	return errors.Join(err, member.close())
}

// serve runs the agent and its doors until the context ends.
func serve(ctx context.Context, c config, member *membership, log *slog.Logger) error {
	resolver := ""
	if c.Resolver == "gateway" {
		resolver = "/proc/self/exe"
	}
	provider, err := c.provider()
	if err != nil {
		return err
	}
	a, err := agent.New(agent.Options{Name: c.Name, StateDir: c.StateDir, RunDir: c.RunDir, Modes: c.modes(), Cluster: member.api(), Alone: c.Store == "none", NoFastPath: c.FastPath == "off", Resolver: resolver, Forwards: c.forwards, NICs: provider, Log: log, Patrol: patrol(), Tripwire: tripwire()})
	if err != nil {
		return err
	}
	server := api.NewServer(a, log)
	server.HandleHosts(member.hosts())
	if member != nil && member.node != nil {
		a.Show(hosts{member}.keepersPart)
		a.Show(hosts{member}.authorityPart)
	}
	queue := door.NewQueue(filepath.Join(c.StateDir, "cni-queue"), a.Detach, log)
	server.Handle("POST "+cni.Path, cni.NewHandler(a, log, queue))
	server.Handle("POST "+netavark.Path, netavark.NewHandler(a, log, queue))
	socket := filepath.Join(c.RunDir, "heddle.sock")
	l, err := api.Listen(socket, c.SocketGroup)
	if err != nil {
		return errors.Join(err, a.Close())
	}
	metrics, err := serveMetrics(c.Metrics, a, log)
	if err != nil {
		return errors.Join(err, l.Close(), a.Close())
	}
	failed := make(chan error, 2)
	dockers, err := serveDocker(c, a, log, failed)
	if err != nil {
		return errors.Join(err, metrics.Close(), l.Close(), a.Close())
	}
	go func() { failed <- server.Serve(l) }()
	daemon.SdNotify(false, daemon.SdNotifyReady)
	log.Info("ready", "socket", socket, "version", heddle.Version)
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	daemon.SdNotify(false, daemon.SdNotifyStopping)
	log.Info("stopping; endpoints and their traffic stay")
	grace, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return errors.Join(err, server.Shutdown(grace), dockers.close(grace), metrics.Shutdown(grace), a.Close())
}

// serveMetrics serves Prometheus series over TCP, if an address is given.
func serveMetrics(address string, a *agent.Agent, log *slog.Logger) (*http.Server, error) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.Metrics(), promhttp.HandlerOpts{}))
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	if address == "" {
		return s, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, heddle.Wrap(heddle.BadArgument, "serve metrics on", address, err,
			"give a free address, such as --metrics 127.0.0.1:9468")
	}
	go func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics no longer served", "error", err)
		}
	}()
	return s, nil
}
