package trial

import (
	"net/netip"
	"strings"

	"github.com/heddle-network/heddle"
)

// uplink is the interface with the default routes on the throw-away host.
const uplink = "up0"

// sample is a network with one endpoint.
type sample struct {
	network  heddle.Network
	endpoint heddle.Endpoint
	// nic is a second interface of the throw-away host, if the mode needs one.
	nic string
}

// sampleFor returns the sample for a mode. Only this function knows what a mode needs. A mode
// that is not named here gets a network with its own addresses and a published port.
func sampleFor(c Case) sample {
	switch c.Mode {
	case "host":
		return sample{network: heddle.Network{ID: sampleID, Name: "trial", Mode: c.Mode}}
	case "macvlan":
		s := newSample(c, "198.51.100", "2001:db8:1:")
		s.network.Parent, s.endpoint.Ports = uplink, nil
		return s
	case "ipvlan":
		s := newSample(c, "198.51.100", "2001:db8:1:")
		s.network.Parent, s.endpoint.Ports = uplink, nil
		s.network.Options = map[string]string{"services": services(c)}
		return s
	case "direct":
		s := newSample(c, "203.0.113", "2001:db8:2:")
		s.nic, s.network.Parent, s.endpoint.Ports = "nic0", "nic0", nil
		return s
	}
	return newSample(c, "10.20.0", "fd20:")
}

const sampleID = "00000000000000aa"

// newSample makes a sample whose subnets start with the prefixes.
func newSample(c Case, four, six string) sample {
	n := heddle.Network{ID: sampleID, Name: "trial", Mode: c.Mode}
	id := heddle.EndpointID{Container: "trial", IfName: "eth0"}
	e := heddle.Endpoint{ID: id, Network: n.ID, NetworkName: n.Name, DefaultRoute: true, MAC: id.DefaultMAC(n.ID, 0),
		Ports: []heddle.PortMapping{{HostPort: 8080, ContainerPort: 80, Protocol: "tcp"}}}
	add := func(base string, bits int) {
		n.Subnets = append(n.Subnets, netip.PrefixFrom(netip.MustParseAddr(base+"1"), bits).Masked())
		n.Gateways = append(n.Gateways, netip.MustParseAddr(base+"1"))
		e.Addrs = append(e.Addrs, netip.PrefixFrom(netip.MustParseAddr(base+"9"), bits))
	}
	if c.IPv4 {
		add(four+".", 24)
	}
	if c.IPv6 {
		add(six+":", 64)
	}
	return sample{network: n, endpoint: e}
}

// services returns prefixes of services, one for each family.
func services(c Case) string {
	var all []string
	if c.IPv4 {
		all = append(all, "10.96.0.0/12")
	}
	if c.IPv6 {
		all = append(all, "fd00:96::/112")
	}
	return strings.Join(all, ",")
}
