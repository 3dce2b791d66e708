package names

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
)

// Entry is a name of an endpoint, as people see it.
type Entry struct {
	Name string `json:"name"`
	// Alias says that it is not the endpoint's own name.
	Alias bool `json:"alias,omitempty"`
	// Network is the network's name, Host that of the endpoint's host.
	Network  string            `json:"network"`
	Host     string            `json:"host"`
	Endpoint heddle.EndpointID `json:"endpoint"`
	Addrs    []netip.Addr      `json:"addrs"`
	// Clash says that another container calls itself by the name, too.
	Clash bool `json:"clash,omitempty"`
}

// List lists the names of networks by name, network, host and endpoint. Self is this host's name.
func List(networks []Network, self string) []Entry {
	var all []Entry
	for _, n := range networks {
		for _, e := range n.Endpoints {
			one := Entry{Name: e.Name, Network: n.Name, Host: cmp.Or(e.Host, self), Endpoint: e.ID, Addrs: e.Addrs}
			if one.Name != "" {
				all = append(all, one)
			}
			for _, alias := range e.Aliases {
				one.Name, one.Alias = alias, true
				all = append(all, one)
			}
		}
	}
	slices.SortFunc(all, func(a, b Entry) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Network, b.Network), strings.Compare(a.Host, b.Host),
			a.Endpoint.Compare(b.Endpoint))
	})
	markClashes(all)
	return all
}

// markClashes marks the own names that several containers of a network have, in a sorted list.
func markClashes(all []Entry) {
	for start, end := 0, 0; start < len(all); start = end {
		owners := map[[2]string]bool{}
		for end = start; end < len(all) && all[end].Name == all[start].Name && all[end].Network == all[start].Network; end++ {
			if e := all[end]; !e.Alias {
				owners[[2]string{e.Host, e.Endpoint.Container}] = true
			}
		}
		for i := start; i < end; i++ {
			all[i].Clash = len(owners) > 1 && !all[i].Alias
		}
	}
}

// Find returns the entries of a list that a question is about: NAME, NAME.NETWORK or
// NAME.NETWORK.heddle.internal.
func Find(all []Entry, question string) []Entry {
	asked := strings.TrimSuffix(strings.ToLower(strings.TrimSuffix(question, ".")), "."+Domain)
	return slices.DeleteFunc(slices.Clone(all), func(e Entry) bool {
		return e.Name != asked && e.Name+"."+strings.ToLower(e.Network) != asked
	})
}
