package service

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/wire"
	"github.com/heddle-network/heddle/nic"
	"github.com/heddle-network/heddle/nic/remote"
)

const (
	// maxBody bounds a request's body in bytes, maxHeader its header.
	maxBody, maxHeader = 64 << 10, 8 << 10
	// headerTime bounds a connection's handshake and the reading of a header, bodyTime that of a request. idleTime
	// is how long a connection may have no request, waitTime how long a request waits for others.
	headerTime, bodyTime, idleTime, waitTime = 5 * time.Second, 10 * time.Second, 10 * time.Second, 20 * time.Second
	// answerTime is later than all work has ended, and earlier than clients give up.
	answerTime = remote.CallTime - 5*time.Second
	// stopTime is how long requests have to end.
	stopTime = 30 * time.Second
	// maxStreams bounds the requests at a time of one connection (HTTP/2).
	maxStreams = 16
)

// Server answers machines over TLS.
type Server struct {
	service *Service
	state   *State
	log     *slog.Logger
	http    *http.Server
	// refused limits what the log says of callers without a grant.
	refused rate.Sometimes
}

// NewServer returns a server that does not listen yet.
func NewServer(service *Service, state *State, log *slog.Logger) *Server {
	s := &Server{service: service, state: state, log: log, refused: rate.Sometimes{Interval: time.Second}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+remote.PathOffer, handle(func(ctx context.Context, machine string, _ *http.Request) (any, error) {
		return service.Describe(ctx, machine)
	}))
	mux.HandleFunc("GET "+remote.PathNICs, handle(func(ctx context.Context, machine string, _ *http.Request) (any, error) {
		return service.List(ctx, machine)
	}))
	ending, end := context.WithCancel(context.Background())
	mux.HandleFunc("GET "+remote.PathWatch, handle(func(ctx context.Context, machine string, r *http.Request) (any, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer context.AfterFunc(ending, cancel)()
		now, err := service.Watch(ctx, machine, r.URL.Query().Get(remote.QuerySince))
		return remote.WatchAnswer{Now: now}, err
	}))
	mux.HandleFunc("PUT "+remote.PathNICs+"/{token}", handle(func(ctx context.Context, machine string, r *http.Request) (any, error) {
		var q remote.PlugRequest
		if err := wire.Read(r, maxBody, &q); err != nil {
			return nil, err
		}
		return service.Plug(ctx, machine, nic.Order{Token: r.PathValue("token"), Network: q.Network, MAC: q.MAC, IPs: q.IPs, From: q.From})
	}))
	mux.HandleFunc("DELETE "+remote.PathNICs+"/{token}", handle(func(ctx context.Context, machine string, r *http.Request) (any, error) {
		return struct{}{}, service.Unplug(ctx, machine, r.PathValue("token"))
	}))
	mux.HandleFunc("POST "+remote.PathNICs+"/{token}"+remote.SubPermit, handle(func(ctx context.Context, machine string, r *http.Request) (any, error) {
		var q remote.PermitRequest
		if err := wire.Read(r, maxBody, &q); err != nil {
			return nil, err
		}
		return struct{}{}, service.Permit(ctx, machine, r.PathValue("token"), q.To, q.As)
	}))
	mux.HandleFunc("POST "+remote.PathNICs+"/{token}"+remote.SubConfirm, handle(func(ctx context.Context, machine string, r *http.Request) (any, error) {
		return struct{}{}, service.Confirm(ctx, machine, r.PathValue("token"))
	}))
	mux.HandleFunc("POST "+remote.PathNICs+"/{token}"+remote.SubAssign, handle(func(ctx context.Context, machine string, r *http.Request) (any, error) {
		var q remote.AssignRequest
		if err := wire.Read(r, maxBody, &q); err != nil {
			return nil, err
		}
		return service.Assign(ctx, machine, r.PathValue("token"), q.Sets)
	}))
	mux.HandleFunc("POST "+remote.PathNICs+"/{token}"+remote.SubUnassign, handle(func(ctx context.Context, machine string, r *http.Request) (any, error) {
		var q remote.UnassignRequest
		if err := wire.Read(r, maxBody, &q); err != nil {
			return nil, err
		}
		return struct{}{}, service.Unassign(ctx, machine, r.PathValue("token"), q.Address)
	}))
	mux.HandleFunc("POST "+remote.PathNICs+"/{token}"+remote.SubLimit, handle(func(ctx context.Context, machine string, r *http.Request) (any, error) {
		var q heddle.RateLimits
		if err := wire.Read(r, maxBody, &q); err != nil {
			return nil, err
		}
		return service.Limit(ctx, machine, r.PathValue("token"), q)
	}))
	s.http = &http.Server{Handler: s.authenticate(wire.Route(mux, unknownCall)), ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime, WriteTimeout: answerTime,
		IdleTimeout: idleTime, MaxHeaderBytes: maxHeader, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ErrorLog:  slog.NewLogLogger(log.Handler(), slog.LevelDebug), // anybody can cause failed handshakes
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{state.cert.tls()}, SessionTicketsDisabled: true}}
	s.http.RegisterOnShutdown(end) // a watch may wait for long
	return s
}

// Serve answers on the listener until the context ends; then requests have half a minute to end. Meanwhile it
// reconciles, and watches the ports. It closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stopped := make(chan struct{})
	var background sync.WaitGroup
	background.Go(func() { s.service.keepReconciled(ctx) })
	background.Go(func() { s.service.keepWatching(ctx) })
	go func() {
		defer close(stopped)
		<-ctx.Done()
		limited, done := context.WithTimeout(context.Background(), stopTime)
		defer done()
		if s.http.Shutdown(limited) != nil {
			s.http.Close()
		}
	}()
	err := s.http.ServeTLS(limit(l, len(s.service.guests)), "", "")
	cancel()
	<-stopped
	background.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return heddle.Wrap(heddle.NICServiceDown, "serve NICs on", l.Addr().String(), err, "start the service again")
}

// handle serves a call of a machine that is authenticated.
func handle(f func(ctx context.Context, machine string, r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), waitTime)
		defer cancel()
		v, err := f(ctx, r.Context().Value(machineKey{}).(string), r)
		wire.Write(w, v, err)
	}
}

func unknownCall(r *http.Request) error {
	return heddle.Errorf(heddle.BadArgument, "call NIC service", r.Method+" "+heddle.Visible(heddle.Clip(r.URL.Path), false), "it has no such call",
		"use heddle of the same version on machine and hypervisor")
}
