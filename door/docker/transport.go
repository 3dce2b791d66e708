package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

// mediaType is that of the plugin protocol (moby, pkg/plugins/transport).
const mediaType = "application/vnd.docker.plugins.v1.2+json"

// maxBody bounds a request in bytes.
const maxBody = 1 << 20

// The two halves of the protocol call an error by different names.
const (
	networkDriver, networkError = "NetworkDriver", "Err"
	ipamDriver, ipamError       = "IpamDriver", "Error"
)

// method answers one call; its body is JSON, or empty.
type method func(ctx context.Context, body []byte) (any, error)

// routes lists all methods. Any other path is 404, which the engine takes as
// "not implemented".
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /Plugin.Activate", func(w http.ResponseWriter, _ *http.Request) {
		write(w, activation{Implements: []string{networkDriver, ipamDriver}})
	})
	for name, m := range s.networkMethods() {
		mux.Handle("POST /"+networkDriver+"."+name, s.answer(name, networkError, m))
	}
	for name, m := range s.ipamMethods() {
		mux.Handle("POST /"+ipamDriver+"."+name, s.answer(name, ipamError, m))
	}
	return mux
}

// networkMethods leaves out AllocateNetwork and FreeNetwork, which managers of a
// swarm call for networks of global scope: ours are local to each engine.
func (s *Server) networkMethods() map[string]method {
	return map[string]method{
		"GetCapabilities":             decoded(s.capabilities),
		"GwAllocCheck":                decoded(s.gatewayCheck),
		"CreateNetwork":               decoded(s.createNetwork),
		"DeleteNetwork":               decoded(s.deleteNetwork),
		"CreateEndpoint":              decoded(s.createEndpoint),
		"DeleteEndpoint":              decoded(s.deleteEndpoint),
		"EndpointOperInfo":            decoded(s.endpointInfo),
		"Join":                        decoded(s.join),
		"Leave":                       decoded(s.leave),
		"ProgramExternalConnectivity": decoded(s.publish),
		"RevokeExternalConnectivity":  decoded(s.unpublish),
		"DiscoverNew":                 decoded(s.discover),
		"DiscoverDelete":              decoded(s.discover),
	}
}

func (s *Server) ipamMethods() map[string]method {
	return map[string]method{
		"GetCapabilities":         decoded(s.ipamCapabilities),
		"GetDefaultAddressSpaces": decoded(s.addressSpaces),
		"RequestPool":             decoded(s.requestPool),
		"ReleasePool":             decoded(s.releasePool),
		"RequestAddress":          decoded(s.requestAddress),
		"ReleaseAddress":          decoded(s.releaseAddress),
	}
}

// decoded returns a method that decodes the body for f. Fields that it does not know come
// from newer engines, and are ignored.
func decoded[Q any](f func(context.Context, Q) (any, error)) method {
	return func(ctx context.Context, body []byte) (any, error) {
		var q Q
		if len(body) > 0 {
			if err := json.Unmarshal(body, &q); err != nil {
				return nil, heddle.Wrap(heddle.BadJSON, "read request of Docker", "", err, "use Docker 20.10 or later")
			}
		}
		return f(ctx, q)
	}
}

// answer calls the method and answers in time. If the method takes longer, it is still
// finished: the engine is told that the call failed, and what was made is undone.
func (s *Server) answer(name, errorKey string, m method) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			write(w, map[string]string{errorKey: err.Error()})
			return
		}
		start := time.Now()
		answer, err := s.callInTime(r.Context(), name, body, m, s.undoOf(name))
		if err != nil {
			s.log.Warn("Docker's call failed", "call", name, "after", time.Since(start).Round(time.Millisecond), "error", err)
			write(w, map[string]string{errorKey: errorText(err)})
			return
		}
		s.log.Debug("Docker's call answered", "call", name, "after", time.Since(start).Round(time.Microsecond))
		write(w, answer)
	}
}

// result is what a method returned.
type result struct {
	answer any
	err    error
}

// callInTime waits for the method, for the time that the call has, and for its reason when that
// has ended.
// Pools and addresses need no undoing: a repeated request by name gets the same ones, and
// what the agent chose expires if no network or endpoint uses it, pools after 10 minutes
// and addresses after 2.
func (s *Server) callInTime(ctx context.Context, name string, body []byte, m, undo method) (any, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeFor(name))
	done, gone := make(chan result), make(chan struct{})
	s.calls.Go(func() {
		defer cancel()
		if undo != nil {
			defer s.callLocks.Lock(name + string(body))()
			if ctx.Err() != nil { // the turn came too late
				return
			}
		}
		answer, err := m(ctx, body)
		select {
		case done <- result{answer, err}:
		case <-gone:
			if err == nil && undo != nil {
				s.undoLate(name, body, undo)
			}
		}
	})
	select {
	case o := <-done:
		return o.answer, o.err
	case <-ctx.Done():
	}
	select {
	case o := <-done: // it says what it was waiting for, which is worth more than that it took long
		return o.answer, o.err
	case <-time.After(reasonTime):
		close(gone)
		return nil, heddle.Errorf(heddle.Waited, "answer Docker's call", name,
			fmt.Sprintf("it took longer than %s", timeFor(name)), "look at 'heddle status', and try again")
	}
}

// undoOf returns the call that undoes the named one, or nil.
func (s *Server) undoOf(name string) method {
	switch name {
	case "CreateNetwork":
		return decoded(s.undoCreateNetwork)
	case "CreateEndpoint":
		return decoded(s.deleteEndpoint)
	case "Join":
		return decoded(s.leave)
	case "ProgramExternalConnectivity":
		return decoded(s.unpublish)
	}
	return nil
}

// undoTime is how long a call that undoes another one may take.
const undoTime = time.Minute

// undoLate undoes a call that finished after the engine was told that it failed.
func (s *Server) undoLate(name string, body []byte, undo method) {
	ctx, cancel := context.WithTimeout(context.Background(), undoTime)
	defer cancel()
	if _, err := undo(ctx, body); err != nil {
		s.log.Error("a call of Docker's that took too long is not undone", "call", name, "error", err)
	}
}

// errorText is an error as the engine shows it: on one line, with invisible characters
// made visible.
func errorText(err error) string {
	var known *heddle.Error
	if errors.As(err, &known) {
		said := *known
		said.Remedy = inDockerWords(known.Remedy)
		err = &said
	}
	return heddle.Visible(strings.ReplaceAll(err.Error(), "\n", "; "), false)
}

// write answers with status 200, as the protocol requires: an error is a field of the
// answer.
func write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", mediaType)
	if v == nil {
		v = struct{}{}
	}
	json.NewEncoder(w).Encode(v)
}
