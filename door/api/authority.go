package api

import (
	"context"

	"github.com/heddle-network/heddle/door/client"
)

// AuthorityKeys serves the calls about the key of the cluster's authority.
type AuthorityKeys interface {
	Authority(context.Context, client.AuthorityRequest) (client.Authority, error)
	AuthorityKey(context.Context, client.AuthorityKeyRequest) (client.AuthorityKey, error)
}

// handleAuthority adds the calls about the authority's key; h is nil without a store.
func (s *Server) handleAuthority(h AuthorityKeys) {
	s.mux.HandleFunc("POST "+client.PathAuthority, withBody(func(ctx context.Context, q client.AuthorityRequest) (any, error) {
		if h == nil {
			return nil, noStore()
		}
		return h.Authority(ctx, q)
	}))
	s.mux.HandleFunc("POST "+client.PathAuthorityKey, withBody(func(ctx context.Context, q client.AuthorityKeyRequest) (any, error) {
		if h == nil {
			return nil, noStore()
		}
		return h.AuthorityKey(ctx, q)
	}))
}
