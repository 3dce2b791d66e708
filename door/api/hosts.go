package api

import (
	"context"
	"net/http"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
)

// Hosts serves the calls about the hosts of the cluster. Those that change something return, in a dry run,
// what they would write.
type Hosts interface {
	List(context.Context) []client.HostStatus
	Token(context.Context, client.TokenRequest) (client.Token, error)
	Remove(context.Context, client.RemovalRequest) (commands []string, err error)
	Keepers(context.Context, client.KeepersRequest) (commands []string, err error)
	Rights(context.Context, client.RightsRequest) (commands []string, err error)
	Ranges() client.Ranges
	SetRanges(context.Context, client.Ranges) (client.Ranges, error)
	AuthorityKeys
}

// HandleHosts adds the calls about other hosts. Without a store, h is nil, and
// the calls are answered with heddle.NoStore.
func (s *Server) HandleHosts(h Hosts) {
	s.mux.HandleFunc("GET "+client.PathHosts, withoutBody(func(r *http.Request) (any, error) {
		if h == nil {
			return nil, noStore()
		}
		return h.List(r.Context()), nil
	}))
	s.mux.HandleFunc("POST "+client.PathHostToken, withBody(func(ctx context.Context, q client.TokenRequest) (any, error) {
		if h == nil {
			return nil, noStore()
		}
		return h.Token(ctx, q)
	}))
	s.mux.HandleFunc("GET "+client.PathRanges, withoutBody(func(*http.Request) (any, error) {
		if h == nil {
			return nil, noStore()
		}
		return h.Ranges(), nil
	}))
	s.mux.HandleFunc("POST "+client.PathRanges, withBody(func(ctx context.Context, q client.Ranges) (any, error) {
		if h == nil {
			return nil, noStore()
		}
		return h.SetRanges(ctx, q)
	}))
	s.mux.HandleFunc("POST "+client.PathHostRemove, withBody(func(ctx context.Context, q client.RemovalRequest) (any, error) {
		if h == nil {
			return nil, noStore()
		}
		return commandsReply(h.Remove(ctx, q))
	}))
	s.mux.HandleFunc("POST "+client.PathKeepers, withBody(func(ctx context.Context, q client.KeepersRequest) (any, error) {
		if h == nil {
			return nil, noStore()
		}
		return commandsReply(h.Keepers(ctx, q))
	}))
	s.handleAuthority(h)
	s.mux.HandleFunc("POST "+client.PathRights, withBody(func(ctx context.Context, q client.RightsRequest) (any, error) {
		if h == nil {
			return nil, noStore()
		}
		return commandsReply(h.Rights(ctx, q))
	}))
}

func commandsReply(commands []string, err error) (any, error) {
	return client.CommandsReply{Commands: commands}, err
}

func noStore() error {
	return heddle.Errorf(heddle.NoStore, "ask cluster", "", "this host's agent runs without a store",
		"start the agent with --store embedded, --store etcd://HOST:PORT, or --join ADDR --token-file FILE")
}
