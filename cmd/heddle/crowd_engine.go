package main

import (
	"context"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/engine"
)

// engine is what makes users containers on a network; nil if they are namespaces. It refuses a client that cannot.
func (s *session) engine(ctx context.Context, as string, n heddle.Network) (*engine.Engine, error) {
	if as == engine.Namespace {
		return nil, nil
	}
	return engine.New(ctx, engine.Setting{As: as, Network: n.Name, Socket: s.socket})
}
