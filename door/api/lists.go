package api

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/names"
)

// The keys by which lists are filtered, besides labels.
const keyMode, keyNetwork, keyName, keyHost = "mode", "network", "name", "host"

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

// endpoints lists the endpoints that pass the caller's filter: of this host, or of all hosts.
func (s *Server) endpoints(r *http.Request) (any, error) {
	everywhere, err := flag(r, client.QueryAllHosts, false)
	if err != nil {
		return nil, err
	}
	list, keys := s.agent.Endpoints, []string{keyNetwork, keyName, heddle.FilterLabel}
	if everywhere {
		list, keys = s.agent.EndpointsEverywhere, append(keys, keyHost)
	}
	f, err := heddle.ParseFilter(r.URL.Query()[client.QueryFilter], keys...)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list(), func(e heddle.Endpoint) bool {
		onNetwork := f.Has(keyNetwork, e.NetworkName) || f.Has(keyNetwork, e.Network)
		return !onNetwork || !hasAnyName(f, e) || !f.Has(keyHost, e.Host) || !f.HasLabels(e.Labels)
	}), nil
}

// hasAnyName reports whether an endpoint's name or one of its aliases passes the filter.
func hasAnyName(f heddle.Filter, e heddle.Endpoint) bool {
	return f.Has(keyName, e.Name) || slices.ContainsFunc(e.Aliases, func(name string) bool { return f.Has(keyName, name) })
}

// names lists the names that pass the caller's filter.
func (s *Server) names(r *http.Request) (any, error) {
	f, err := heddle.ParseFilter(r.URL.Query()[client.QueryFilter], keyNetwork, keyName, keyHost)
	if err != nil {
		return nil, err
	}
	ids := map[string]string{}
	for _, n := range s.agent.Networks() {
		ids[n.Name] = n.ID
	}
	return slices.DeleteFunc(s.agent.Names(), func(e names.Entry) bool {
		onNetwork := f.Has(keyNetwork, e.Network) || f.Has(keyNetwork, ids[e.Network])
		return !onNetwork || !f.Has(keyName, e.Name) || !f.Has(keyHost, e.Host)
	}), nil
}

// flag reads a parameter that is true or false.
func flag(r *http.Request, name string, byDefault bool) (bool, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return byDefault, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return on, heddle.Errorf(heddle.BadArgument, "read parameter", name,
			strconv.Quote(heddle.Clip(text))+" is neither true nor false", "give true or false")
	}
	return on, nil
}
