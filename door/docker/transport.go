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
		"GetCapabilities":             take(s.capabilities),
		"GwAllocCheck":                take(s.gatewayCheck),
		"CreateNetwork":               take(s.createNetwork),
		"DeleteNetwork":               take(s.deleteNetwork),
		"CreateEndpoint":              take(s.createEndpoint),
		"DeleteEndpoint":              take(s.deleteEndpoint),
		"EndpointOperInfo":            take(s.endpointInfo),
		"Join":                        take(s.join),
		"Leave":                       take(s.leave),
		"ProgramExternalConnectivity": take(s.publish),
		"RevokeExternalConnectivity":  take(s.unpublish),
		"DiscoverNew":                 take(s.discover),
		"DiscoverDelete":              take(s.discover),
	}
}

func (s *Server) ipamMethods() map[string]method {
	return map[string]method{
		"GetCapabilities":         take(s.ipamCapabilities),
		"GetDefaultAddressSpaces": take(s.addressSpaces),
		"RequestPool":             take(s.requestPool),
		"ReleasePool":             take(s.releasePool),
		"RequestAddress":          take(s.requestAddress),
		"ReleaseAddress":          take(s.releaseAddress),
	}
}

// take decodes the body. Fields that it does not know are of newer engines, and
// ignored.
func take[Q any](f func(context.Context, Q) (any, error)) method {
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

// answer calls the method and answers within the limit. Work begun is finished,
// also when that takes longer: the engine is told that the call failed, and what
// was made too late is undone.
func (s *Server) answer(name, errorKey string, m method) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			write(w, map[string]string{errorKey: err.Error()})
			return
		}
		start := time.Now()
		answer, err := s.within(r.Context(), name, body, m, s.undo(name))
		if err != nil {
			s.log.Warn("Docker's call failed", "call", name, "after", time.Since(start).Round(time.Millisecond), "error", err)
			write(w, map[string]string{errorKey: sentence(err)})
			return
		}
		s.log.Debug("Docker's call answered", "call", name, "after", time.Since(start).Round(time.Microsecond))
		write(w, answer)
	}
}

// outcome is what a method returned.
type outcome struct {
	answer any
	err    error
}

// within waits for the method up to the limit, less what reading and writing take.
// Pools and addresses need no undoing: those asked for by name are the same ones
// again, and what the agent chose expires when no network or endpoint takes it, after
// 10 and 2 minutes.
func (s *Server) within(ctx context.Context, name string, body []byte, m, undo method) (any, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit-limit/10)
	done, gone := make(chan outcome), make(chan struct{})
	s.calls.Go(func() {
		defer cancel()
		if undo != nil {
			defer s.turns.Lock(name + string(body))()
			if ctx.Err() != nil { // the turn came too late
				return
			}
		}
		answer, err := m(ctx, body)
		select {
		case done <- outcome{answer, err}:
		case <-gone:
			if err == nil && undo != nil {
				s.takeBack(name, body, undo)
			}
		}
	})
	select {
	case o := <-done:
		return o.answer, o.err
	case <-ctx.Done():
		close(gone)
		return nil, heddle.Errorf(heddle.Waited, "answer Docker's call", name, fmt.Sprintf("it took longer than %s", limit-limit/10), "look at 'heddle status', and try again")
	}
}

// undo says which call takes back what another one made.
func (s *Server) undo(name string) method {
	switch name {
	case "CreateNetwork":
		return take(s.uncreateNetwork)
	case "CreateEndpoint":
		return take(s.deleteEndpoint)
	case "Join":
		return take(s.leave)
	case "ProgramExternalConnectivity":
		return take(s.unpublish)
	}
	return nil
}

// undoing bounds a call that takes another one back.
const undoing = time.Minute

// takeBack undoes what was made after the engine was told that it failed.
func (s *Server) takeBack(name string, body []byte, undo method) {
	ctx, cancel := context.WithTimeout(context.Background(), undoing)
	defer cancel()
	if _, err := undo(ctx, body); err != nil {
		s.log.Error("a call of Docker's that took too long is not undone", "call", name, "error", err)
	}
}

// sentence is an error as the engine shows it: on one line, with nothing hidden in it.
func sentence(err error) string {
	var known *heddle.Error
	if errors.As(err, &known) {
		err = known
	}
	return heddle.Visible(strings.ReplaceAll(err.Error(), "\n", "; "), false)
}

// write answers. The protocol has no use for other states than 200: an error is
// a field of the answer.
func write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", mediaType)
	if v == nil {
		v = struct{}{}
	}
	json.NewEncoder(w).Encode(v)
}
