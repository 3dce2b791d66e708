package api

import (
	"context"
	"net/http"

	"github.com/heddle-network/heddle/door/client"
)

// handleHAVIPs adds the calls about addresses that one of several endpoints holds.
func (s *Server) handleHAVIPs() {
	a := s.agent
	s.mux.HandleFunc("GET "+client.PathHAVIPs, withoutBody(func(*http.Request) (any, error) { return a.HAVIPs(), nil }))
	s.mux.HandleFunc("GET "+client.PathHAVIPs+"/{name}", withoutBody(func(r *http.Request) (any, error) { return a.HAVIP(r.PathValue("name")) }))
	s.mux.HandleFunc("GET "+client.PathHAVIPs+"/{name}/deletion", withoutBody(func(r *http.Request) (any, error) {
		return commandsReply(a.DeleteHAVIP(r.PathValue("name"), true))
	}))
	s.mux.HandleFunc("DELETE "+client.PathHAVIPs+"/{name}", withoutBody(func(r *http.Request) (any, error) {
		return commandsReply(a.DeleteHAVIP(r.PathValue("name"), false))
	}))
	s.mux.HandleFunc("POST "+client.PathHAVIPs, withBody(func(_ context.Context, q client.HAVIPRequest) (any, error) {
		h, commands, err := a.CreateHAVIP(q.HAVIP, q.DryRun)
		return client.HAVIPReply{HAVIP: h, Commands: commands}, err
	}))
	s.mux.HandleFunc("POST "+client.PathHAVIPHolder, withBody(func(_ context.Context, q client.HolderRequest) (any, error) {
		h, commands, err := a.AssignHAVIP(q.Name, q.Endpoint, q.DryRun)
		return client.HAVIPReply{HAVIP: h, Commands: commands}, err
	}))
}
