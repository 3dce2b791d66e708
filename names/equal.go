package names

import "slices"

// Equal reports whether two endpoints are the same.
func (e Endpoint) Equal(o Endpoint) bool {
	return e.ID == o.ID && e.Pod == o.Pod && e.Host == o.Host && e.Name == o.Name && slices.Equal(e.Aliases, o.Aliases) && slices.Equal(e.Addrs, o.Addrs) &&
		slices.Equal(e.Ports, o.Ports)
}

// Equal reports whether two networks are the same.
func (n Network) Equal(o Network) bool {
	return n.ID == o.ID && n.Name == o.Name && n.Internal == o.Internal && slices.Equal(n.Listen, o.Listen) &&
		slices.Equal(n.Subnets, o.Subnets) && (identical(n.Endpoints, o.Endpoints) || slices.EqualFunc(n.Endpoints, o.Endpoints, Endpoint.Equal))
}

// identical reports whether two lists are one in memory: there may be many endpoints.
func identical(a, b []Endpoint) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
