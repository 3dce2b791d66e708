package api

import (
	"context"
	"net/http"

	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/policy"
)

// handlePolicies adds the calls about policies.
func (s *Server) handlePolicies() {
	a := s.agent
	s.mux.HandleFunc("GET "+client.PathPolicies, withoutBody(func(*http.Request) (any, error) { return append([]policy.Policy{}, a.Policies()...), nil }))
	s.mux.HandleFunc("GET "+client.PathPolicies+"/{name}", withoutBody(func(r *http.Request) (any, error) { return a.Policy(r.PathValue("name")) }))
	s.mux.HandleFunc("DELETE "+client.PathPolicies+"/{name}", withoutBody(func(r *http.Request) (any, error) {
		return struct{}{}, a.DeletePolicy(r.PathValue("name"))
	}))
	s.mux.HandleFunc("GET "+client.PathPolicies+"/{name}/deletion", withoutBody(func(r *http.Request) (any, error) {
		commands, err := a.DeletePolicyCommands(r.PathValue("name"))
		return client.CommandsReply{Commands: commands}, err
	}))
	s.mux.HandleFunc("POST "+client.PathPolicies, withBody(func(_ context.Context, q client.PoliciesRequest) (any, error) {
		if q.DryRun {
			commands, err := a.PolicyCommands(q.Policies, q.Replace)
			return client.CommandsReply{Commands: commands}, err
		}
		return client.CommandsReply{}, a.CreatePolicies(q.Policies, q.Replace)
	}))
	s.mux.HandleFunc("POST "+client.PathPolicyTest, withBody(func(_ context.Context, q policy.Question) (any, error) { return a.TestPolicies(q) }))
}
