package api

import (
	"context"
	"net/http"

	"github.com/heddle-network/heddle/door/client"
)

// handleVPCRoutes adds the calls about static routes of the agent's VPC.
func (s *Server) handleVPCRoutes() {
	a := s.agent
	s.mux.HandleFunc("GET "+client.PathVPCRoutes, withoutBody(func(*http.Request) (any, error) { return a.VPCRoutes(), nil }))
	s.mux.HandleFunc("POST "+client.PathVPCRoutes, withBody(func(_ context.Context, q client.VPCRouteRequest) (any, error) {
		r, commands, err := a.AddVPCRoute(q.Route, q.DryRun)
		return client.VPCRouteReply{Route: r, Commands: commands}, err
	}))
	s.mux.HandleFunc("POST "+client.PathVPCRouteDeletion, withBody(func(_ context.Context, q client.VPCRouteDeletion) (any, error) {
		existed, commands, err := a.DeleteVPCRoute(q.Destination, q.DryRun)
		return client.VPCRouteDeleted{Existed: existed, Commands: commands}, err
	}))
}
