package api

import (
	"context"
	"net/http"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
)

// Hosts is what an agent with a store does about the hosts of its cluster.
type Hosts interface {
	List(context.Context) []client.HostStatus
	Token(context.Context, client.TokenRequest) (client.Token, error)
	Remove(context.Context, client.RemovalRequest) error
	Keepers(context.Context, client.KeepersRequest) error
	Rights(context.Context, client.RightsRequest) error
	Ranges() client.Ranges
	SetRanges(context.Context, client.Ranges) (client.Ranges, error)
	Custodian
}

// HandleHosts adds the calls about other hosts. Without a store, h is nil, and
// the calls are answered with heddle.NoStore.
func (s *Server) HandleHosts(h Hosts) {
	s.mux.HandleFunc("GET "+client.PathHosts, reply(func(r *http.Request) (any, error) {
		if h == nil {
			return nil, noStore()
		}
		return h.List(r.Context()), nil
	}))
	s.mux.HandleFunc("POST "+client.PathHostToken, take(func(ctx context.Context, q client.TokenRequest) (any, error) {
		if h == nil {
			return nil, noStore()
		}
		return h.Token(ctx, q)
	}))
	s.mux.HandleFunc("GET "+client.PathRanges, reply(func(*http.Request) (any, error) {
		if h == nil {
			return nil, noStore()
		}
		return h.Ranges(), nil
	}))
	s.mux.HandleFunc("POST "+client.PathRanges, take(func(ctx context.Context, q client.Ranges) (any, error) {
		if h == nil {
			return nil, noStore()
		}
		return h.SetRanges(ctx, q)
	}))
	s.mux.HandleFunc("POST "+client.PathHostRemove, take(func(ctx context.Context, q client.RemovalRequest) (any, error) {
		if h == nil {
			return nil, noStore()
		}
		return struct{}{}, h.Remove(ctx, q)
	}))
	s.mux.HandleFunc("POST "+client.PathKeepers, take(func(ctx context.Context, q client.KeepersRequest) (any, error) {
		if h == nil {
			return nil, noStore()
		}
		return struct{}{}, h.Keepers(ctx, q)
	}))
	s.handleAuthority(h)
	s.mux.HandleFunc("POST "+client.PathRights, take(func(ctx context.Context, q client.RightsRequest) (any, error) {
		if h == nil {
			return nil, noStore()
		}
		return struct{}{}, h.Rights(ctx, q)
	}))
}

func noStore() error {
	return heddle.Errorf(heddle.NoStore, "ask cluster", "", "this host's agent runs without a store", "start the agent with --store embedded, --store etcd://HOST:PORT, or --join ADDR --token-file FILE")
}
