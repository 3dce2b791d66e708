package api

import (
	"context"

	"github.com/heddle-network/heddle/door/client"
)

// Custodian is what an agent with a store does about the key of its cluster's authority.
type Custodian interface {
	Authority(context.Context, client.AuthorityRequest) (client.Authority, error)
	AuthorityKey(context.Context, client.AuthorityKeyRequest) (client.AuthorityKey, error)
}

// handleAuthority adds the calls about the authority's key; h is nil without a store.
func (s *Server) handleAuthority(h Custodian) {
	s.mux.HandleFunc("POST "+client.PathAuthority, take(func(ctx context.Context, q client.AuthorityRequest) (any, error) {
		if h == nil {
			return nil, noStore()
		}
		return h.Authority(ctx, q)
	}))
	s.mux.HandleFunc("POST "+client.PathAuthorityKey, take(func(ctx context.Context, q client.AuthorityKeyRequest) (any, error) {
		if h == nil {
			return nil, noStore()
		}
		return h.AuthorityKey(ctx, q)
	}))
}
