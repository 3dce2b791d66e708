package api

import (
	"net/http"

	"github.com/heddle-network/heddle/door/client"
)

// handlePeers adds the call about the paths to other hosts.
func (s *Server) handlePeers() {
	s.mux.HandleFunc("GET "+client.PathPeers, withoutBody(func(*http.Request) (any, error) { return s.agent.Peers(), nil }))
}
