package random_test

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

var uplink = heddle.LinkFact{Name: "up0", MTU: 1500, MAC: "02:00:00:00:00:01", Up: true,
	Addrs:    []netip.Prefix{netip.MustParsePrefix("198.51.100.2/24"), netip.MustParsePrefix("2001:db8:1::2/64")},
	Gateways: []netip.Addr{netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("2001:db8:1::1")}}

// model is what there should be.
type model struct {
	networks  map[string]heddle.Network
	endpoints map[heddle.EndpointID]heddle.Endpoint
	// alive are the containers whose namespace lives, by path. Of an endpoint whose
	// container has ended since, lost says so.
	alive map[string]bool
	lost  map[heddle.EndpointID]bool
	// lostSome says that something was taken off the host and may not be back.
	lostSome bool
}

func newModel() model {
	return model{networks: map[string]heddle.Network{}, endpoints: map[heddle.EndpointID]heddle.Endpoint{}, alive: map[string]bool{}, lost: map[heddle.EndpointID]bool{}}
}

const containers = 16

func (m *model) paths() (all []string) {
	for i := range containers {
		all = append(all, path(i))
	}
	return all
}

func path(i int) string { return fmt.Sprintf("/run/netns/c%d", i) }

// plots are the networks that may be: each has its place.
var plots = []heddle.Network{
	{Name: "red", Mode: "bridge", Subnets: prefixes("10.1.0.0/26", "fd01::/64")},
	{Name: "green", Mode: "bridge", Subnets: prefixes("10.2.0.0/28"), Internal: true},
	{Name: "blue", Mode: "routed", Subnets: prefixes("10.3.0.0/27", "fd03::/64")},
	{Name: "lan", Mode: "macvlan", Parent: "up0", Subnets: prefixes("198.51.100.0/24")},
}

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, s := range texts {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
}

// plot draws a network that may be there.
func (w *world) plot() heddle.Network {
	var all []string
	for _, p := range plots {
		for range 1 + 4*len(w.networks[p.Name].ID)/16 { // those that are there more often
			all = append(all, p.Name)
		}
	}
	name := oneOf(w, all)
	return plots[slices.IndexFunc(plots, func(n heddle.Network) bool { return n.Name == name })]
}

// request draws a request.
func (w *world) request() heddle.AttachRequest {
	plot := w.plot()
	c, ifname := 0, ""
	for tries := 1 + w.pick(4); tries > 0; tries-- { // mostly one that is not there
		c, ifname = w.pick(containers), oneOf(w, []string{"eth0", "eth0", "eth1"})
		if _, known := w.endpoints[heddle.EndpointID{Container: fmt.Sprintf("c%d", c), IfName: ifname}]; !known {
			break
		}
	}
	id := heddle.EndpointID{Container: fmt.Sprintf("c%d", c), IfName: ifname}
	req := heddle.AttachRequest{ID: id, Network: plot.Name, Netns: path(c)}
	if w.pick(8) == 0 {
		a := plot.Subnets[0].Addr()
		for range 3 + w.pick(11) {
			a = a.Next()
		}
		req.IPs = []netip.Addr{a}
	}
	if plot.Mode == "bridge" && !plot.Internal && w.pick(4) == 0 {
		req.Ports = []heddle.PortMapping{{HostPort: uint16(8000 + w.pick(4)), ContainerPort: 80, Protocol: "tcp"}}
	}
	w.t.Logf("%s on %s, %v, %v", req.ID, req.Network, req.IPs, req.Ports)
	return req
}

// one draws an endpoint that there is.
func (w *world) one() (id heddle.EndpointID, any bool) {
	if len(w.endpoints) == 0 {
		return id, false
	}
	var all []string
	for id := range w.endpoints {
		all = append(all, id.String())
	}
	slices.Sort(all)
	id, err := heddle.ParseEndpointID(oneOf(w, all))
	w.must(err)
	w.t.Logf("%s", id)
	return id, true
}

// attached notes an endpoint that was made, and says what is wrong with it.
func (m *model) attached(req heddle.AttachRequest, e heddle.Endpoint) error {
	n, known := m.networks[req.Network]
	switch {
	case !known:
		return fmt.Errorf("%s: on network %s, which is not there", e.ID, req.Network)
	case e.ID != req.ID || e.Network != n.ID || len(e.Addrs) != len(n.Subnets):
		return fmt.Errorf("%s on %s: %+v", req.ID, n.Name, e)
	}
	for i, a := range e.Addrs {
		if !n.Subnets[i].Contains(a.Addr()) || slices.Contains(n.Gateways, a.Addr()) {
			return fmt.Errorf("%s on %s: address %s", e.ID, n.Name, a)
		}
	}
	for id, other := range m.endpoints {
		if id == e.ID {
			continue
		}
		for _, a := range e.Addrs {
			if slices.Contains(other.Addrs, a) {
				return fmt.Errorf("%s and %s: both have address %s", e.ID, id, a)
			}
		}
		if other.Network == e.Network && (other.MAC == e.MAC || other.Slot == e.Slot) {
			return fmt.Errorf("%s and %s: both have MAC %s or slot %d", e.ID, id, e.MAC, e.Slot)
		}
		for _, p := range e.Ports {
			if slices.Contains(other.Ports, p) {
				return fmt.Errorf("%s and %s: both have port %s", e.ID, id, p)
			}
		}
	}
	for _, want := range req.IPs {
		if !slices.ContainsFunc(e.Addrs, func(p netip.Prefix) bool { return p.Addr() == want }) {
			return fmt.Errorf("%s: asked for %s, has %s", e.ID, want, e.Addrs)
		}
	}
	m.endpoints[e.ID] = e
	delete(m.lost, e.ID)
	return nil
}

// detached notes that an endpoint is gone.
func (m *model) detached(id heddle.EndpointID) {
	delete(m.endpoints, id)
	delete(m.lost, id)
}

// has reports whether any endpoint is so.
func (m *model) has(is func(heddle.Endpoint) bool) bool {
	for _, e := range m.endpoints {
		if is(e) {
			return true
		}
	}
	return false
}

// used reports whether an endpoint is on the network.
func (m *model) used(name string) bool {
	return m.has(func(e heddle.Endpoint) bool { return e.Network == m.networks[name].ID })
}
