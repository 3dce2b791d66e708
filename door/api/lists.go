package api

import (
	"net/http"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/names"
)

// The keys by which lists are filtered, besides labels.
const keyMode, keyNetwork = "mode", "network"

// networks lists the networks that pass the caller's filter.
func (s *Server) networks(r *http.Request) (any, error) {
	f, err := heddle.ParseFilter(r.URL.Query()[client.QueryFilter], keyMode, heddle.FilterLabel)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(s.agent.Networks(), func(n heddle.Network) bool {
		return !f.Has(keyMode, n.Mode) || !f.HasLabels(n.Labels)
	}), nil
}

// endpoints lists the endpoints that pass the caller's filter.
func (s *Server) endpoints(r *http.Request) (any, error) {
	f, err := heddle.ParseFilter(r.URL.Query()[client.QueryFilter], keyNetwork, heddle.FilterLabel)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(s.agent.Endpoints(), func(e heddle.Endpoint) bool {
		return !f.Has(keyNetwork, e.NetworkName) || !f.HasLabels(e.Labels)
	}), nil
}

// names lists the names on the networks that pass the caller's filter.
func (s *Server) names(r *http.Request) (any, error) {
	f, err := heddle.ParseFilter(r.URL.Query()[client.QueryFilter], keyNetwork)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(s.agent.Names(), func(e names.Entry) bool { return !f.Has(keyNetwork, e.Network) }), nil
}
