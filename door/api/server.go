// Package api is the agent's local door: HTTP and JSON on a unix socket. Callers
// are known by the kernel (SO_PEERCRED), so there are no passwords; the socket
// belongs to root and its group. Package client is the other end.
package api

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/door/wire"
)

// maxBody bounds a request's size in bytes.
const maxBody = 1 << 20

// Server serves the agent's API. Other doors add their handlers to it.
type Server struct {
	agent *agent.Agent
	log   *slog.Logger
	mux   *http.ServeMux
	http  *http.Server
	// ending ends when Shutdown begins, for calls that would go on for long.
	ending context.Context
}

// NewServer returns a server that does not listen yet.
func NewServer(a *agent.Agent, log *slog.Logger) *Server {
	s := &Server{agent: a, log: log, mux: http.NewServeMux()}
	s.http = &http.Server{Handler: s.authorize(wire.Route(s.mux, unknownCall)), ConnContext: withCaller, ReadHeaderTimeout: 10 * time.Second}
	ending, end := context.WithCancel(context.Background())
	s.ending = ending
	s.http.RegisterOnShutdown(end)
	s.mux.HandleFunc("GET "+client.PathModes, withoutBody(func(*http.Request) (any, error) { return a.Modes(), nil }))
	s.mux.HandleFunc("GET "+client.PathNetworks, withoutBody(s.networks))
	s.mux.HandleFunc("GET "+client.PathNetworks+"/{name}", withoutBody(func(r *http.Request) (any, error) { return a.Network(r.PathValue("name")) }))
	s.mux.HandleFunc("GET "+client.PathNetworks+"/{name}/explain", withoutBody(func(r *http.Request) (any, error) { return a.ExplainNetwork(r.PathValue("name")) }))
	s.mux.HandleFunc("DELETE "+client.PathNetworks+"/{name}", withoutBody(func(r *http.Request) (any, error) {
		return struct{}{}, a.DeleteNetwork(r.PathValue("name"))
	}))
	s.mux.HandleFunc("GET "+client.PathNetworks+"/{name}/deletion", withoutBody(func(r *http.Request) (any, error) {
		commands, err := a.DeleteCommands(r.PathValue("name"))
		return client.CommandsReply{Commands: commands}, err
	}))
	s.mux.HandleFunc("POST "+client.PathNetworks, withBody(func(_ context.Context, q client.CreateRequest) (any, error) {
		n, commands, err := a.CreateNetwork(q.Network, q.DryRun)
		return client.CreateReply{Network: n, Commands: commands}, err
	}))
	s.mux.HandleFunc("POST "+client.PathAllow, withBody(s.allow))
	s.mux.HandleFunc("GET "+client.PathEndpoints, withoutBody(s.endpoints))
	s.mux.HandleFunc("GET "+client.PathEndpoints+"/{container}/{ifname}", s.withEndpoint(func(id heddle.EndpointID) (any, error) { return a.Endpoint(id) }))
	s.mux.HandleFunc("POST "+client.PathAttach, withBody(func(ctx context.Context, q heddle.AttachRequest) (any, error) { return a.Attach(ctx, q) }))
	s.mux.HandleFunc("POST "+client.PathAttachBatch, s.attachBatch)
	s.mux.HandleFunc("POST "+client.PathDetach, withBody(s.detach))
	s.mux.HandleFunc("POST "+client.PathMove, withBody(s.move))
	s.mux.HandleFunc("POST "+client.PathLabel, withBody(func(ctx context.Context, q client.LabelRequest) (any, error) {
		return a.Label(ctx, q.ID, q.LabelChange)
	}))
	s.mux.HandleFunc("POST "+client.PathLimits, withBody(func(ctx context.Context, q client.LimitsRequest) (any, error) {
		e, commands, err := a.SetLimits(ctx, q.ID, q.RateLimitChange, q.DryRun)
		return client.LimitsReply{Endpoint: e, Commands: commands}, err
	}))
	s.mux.HandleFunc("POST "+client.PathFurther, withBody(func(ctx context.Context, q client.FurtherRequest) (any, error) {
		if q.Without.IsValid() {
			return a.Unassign(ctx, q.ID, q.Without)
		}
		return a.Assign(ctx, q.ID, q.Sets, q.IPs...)
	}))
	s.mux.HandleFunc("GET "+client.PathCheck, withoutBody(func(*http.Request) (any, error) { return a.Check(heddle.EndpointID{}) }))
	s.mux.HandleFunc("GET "+client.PathCheck+"/{container}/{ifname}", s.withEndpoint(func(id heddle.EndpointID) (any, error) { return a.Check(id) }))
	s.mux.HandleFunc("GET "+client.PathExplain+"/{container}/{ifname}", s.withEndpoint(func(id heddle.EndpointID) (any, error) { return a.Explain(id) }))
	s.mux.HandleFunc("GET "+client.PathAudit, withoutBody(func(*http.Request) (any, error) { return a.Audit() }))
	s.mux.HandleFunc("GET "+client.PathStatus, withoutBody(func(*http.Request) (any, error) { return a.Status(), nil }))
	s.mux.HandleFunc("GET "+client.PathNames, withoutBody(s.names))
	s.handlePeers()
	s.handlePolicies()
	s.handleHAVIPs()
	s.handleVPCRoutes()
	s.handleEvents()
	s.handlePing()
	s.mux.HandleFunc("POST "+client.PathGC, withBody(s.gc))
	return s
}

// Handle adds another door's handler.
func (s *Server) Handle(pattern string, h http.Handler) { s.mux.Handle(pattern, h) }

// Serve answers on the listener until Shutdown.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown stops the server once its calls under way are answered.
func (s *Server) Shutdown(ctx context.Context) error { return s.http.Shutdown(ctx) }

// untilEnding returns a request's context, which ends also when Shutdown begins.
func (s *Server) untilEnding(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(s.ending, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// withEndpoint serves a call that names an endpoint in its path.
func (s *Server) withEndpoint(f func(heddle.EndpointID) (any, error)) http.HandlerFunc {
	return withoutBody(func(r *http.Request) (any, error) {
		id := heddle.EndpointID{Container: r.PathValue("container"), IfName: r.PathValue("ifname")}
		if err := id.Check(); err != nil {
			return nil, err
		}
		return f(id)
	})
}

func withoutBody(f func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := f(r)
		wire.Write(w, v, err)
	}
}

// withBody serves a call with a JSON body.
func withBody[Q any](f func(context.Context, Q) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var q Q
		if err := wire.Read(r, maxBody, &q); err != nil {
			wire.Write(w, nil, err)
			return
		}
		// Finish the work even if the caller disconnects: all or nothing.
		v, err := f(context.WithoutCancel(r.Context()), q)
		wire.Write(w, v, err)
	}
}

func unknownCall(r *http.Request) error {
	return heddle.Errorf(heddle.BadArgument, "call agent", r.Method+" "+r.URL.Path,
		"this agent has no such call", "use a program of the agent's version")
}
