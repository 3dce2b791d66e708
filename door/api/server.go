// Package api is the agent's local door: HTTP and JSON on a unix socket. Callers
// are known by the kernel (SO_PEERCRED), so there are no passwords; the socket
// belongs to root and its group. Package client is the other end.
package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/door/client"
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
	s.http = &http.Server{Handler: s.authorize(s.route()), ConnContext: withCaller, ReadHeaderTimeout: 10 * time.Second}
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
	s.mux.HandleFunc("GET "+client.PathCheck, withoutBody(func(*http.Request) (any, error) { return a.Check(heddle.EndpointID{}) }))
	s.mux.HandleFunc("GET "+client.PathCheck+"/{container}/{ifname}", s.withEndpoint(func(id heddle.EndpointID) (any, error) { return a.Check(id) }))
	s.mux.HandleFunc("GET "+client.PathExplain+"/{container}/{ifname}", s.withEndpoint(func(id heddle.EndpointID) (any, error) { return a.Explain(id) }))
	s.mux.HandleFunc("GET "+client.PathAudit, withoutBody(func(*http.Request) (any, error) { return a.Audit() }))
	s.mux.HandleFunc("GET "+client.PathStatus, withoutBody(func(*http.Request) (any, error) { return a.Status(), nil }))
	s.mux.HandleFunc("GET "+client.PathNames, withoutBody(s.names))
	s.handlePeers()
	s.handleEvents()
	s.mux.HandleFunc("POST "+client.PathGC, withBody(s.gc))
	return s
}

// route calls the handler of a request. For an unknown path or method it answers in JSON.
func (s *Server) route() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h, pattern := s.mux.Handler(r); pattern == "" {
			code := &statusRecorder{header: w.Header()}
			h.ServeHTTP(code, r)
			write(w, nil, heddle.Errorf(heddle.BadArgument, "call agent", r.Method+" "+r.URL.Path,
				"this agent has no such call", "use a program of the agent's version"), code.status)
			return
		}
		s.mux.ServeHTTP(w, r)
	})
}

// statusRecorder keeps only the status and headers (Allow) of an answer.
type statusRecorder struct {
	header http.Header
	status int
}

func (s *statusRecorder) Header() http.Header         { return s.header }
func (s *statusRecorder) WriteHeader(status int)      { s.status = status }
func (s *statusRecorder) Write(p []byte) (int, error) { return len(p), nil }

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
		write(w, v, err)
	}
}

// withBody serves a call with a JSON body. It refuses unknown fields, so that a typing
// error is not silently ignored.
func withBody[Q any](f func(context.Context, Q) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var q Q
		body := &io.LimitedReader{R: r.Body, N: maxBody}
		d := json.NewDecoder(body)
		d.DisallowUnknownFields()
		err := d.Decode(&q)
		if _, more := d.Token(); err == nil && more != io.EOF {
			err = errors.New("more than one document")
		}
		if err != nil {
			// Read on for a while, so that a caller that is still writing gets the answer.
			io.Copy(io.Discard, io.LimitReader(r.Body, 8*maxBody))
			if body.N == 0 {
				write(w, nil, heddle.Errorf(heddle.TooMuch, "read request", r.URL.Path, "it is longer than "+strconv.Itoa(maxBody)+" bytes", "ask for less in one call"))
				return
			}
			write(w, nil, heddle.Wrap(heddle.BadJSON, "read request", r.URL.Path, err,
				"send one JSON document with known fields only"))
			return
		}
		// Finish the work even if the caller disconnects: all or nothing.
		v, err := f(context.WithoutCancel(r.Context()), q)
		write(w, v, err)
	}
}

var httpStatus = map[heddle.Kind]int{
	heddle.Usage: http.StatusBadRequest, heddle.Unavailable: http.StatusNotImplemented, heddle.Conflict: http.StatusConflict,
	heddle.Timeout: http.StatusGatewayTimeout, heddle.Unreachable: http.StatusServiceUnavailable, heddle.Partial: http.StatusInternalServerError,
}

// write answers. A given status takes precedence over the status of the error's kind.
func write(w http.ResponseWriter, v any, err error, given ...int) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		status, known := httpStatus[heddle.KindOf(err)]
		if !known {
			status = http.StatusUnprocessableEntity
		}
		if len(given) > 0 {
			status = given[0]
		}
		w.WriteHeader(status)
		v = heddle.ErrorOf("answer call", err)
	}
	json.NewEncoder(w).Encode(v)
}
