// Package vpcroute is static routes of a VPC: packets to a prefix go to the port of a next hop, which is an endpoint of the VPC, or nowhere
// (blackhole). The longest prefix wins (RFC 1812, 5.2.4.3), and no route overrules a subnet of the VPC. The package has the noun with its checks,
// and what the VPC has to have for it. It only computes.
package vpcroute

import (
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
)

// Route is a static route.
type Route struct {
	// Destination is a prefix outside the VPC's subnets.
	Destination netip.Prefix `json:"destination"`
	// NextHop is an address of an endpoint of the VPC; not valid for a blackhole, and if the host is the next hop.
	NextHop netip.Addr `json:"nextHop,omitzero"`
	// Host says that the host is the next hop: the VPC's way out.
	Host bool `json:"host,omitempty"`
	// Endpoint is who had that address when the route was added. Nobody else becomes the next hop by getting the address.
	Endpoint heddle.EndpointID `json:"endpoint,omitzero"`
	Created  time.Time         `json:"created,omitzero"`
}

// The states of a route.
const (
	// Active: packets go to the next hop.
	Active = "active"
	// Blackhole: packets are dropped, since the route says so, or because its next hop is gone.
	Blackhole = "blackhole"
	// Shadowed: a network of the VPC has these addresses, and keeps them.
	Shadowed = "shadowed"
)

// Shown is a route with what has become of it.
type Shown struct {
	Route
	State string `json:"state"`
	// Cause says why it is a blackhole although it has a next hop, or what shadows it.
	Cause string `json:"cause,omitempty"`
}

// Host is the word for the host as a next hop.
const Host = "host"

// MaxRoutes is how many a VPC can have.
const MaxRoutes = 256

// never are destinations that no route can have, since they mean a host or its link: this network, loopback, link-local, multicast and what is
// reserved (RFC 6890).
var never = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("224.0.0.0/3"),
	netip.MustParsePrefix("::/96"), netip.MustParsePrefix("::ffff:0:0/96"), netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("ff00::/8"),
}

// Check refuses a route that says what none can say.
func (r Route) Check() error {
	const op = "add route"
	d := r.Destination
	switch {
	case !d.IsValid():
		return heddle.Errorf(heddle.BadSubnet, op, d.String(), "the destination is no prefix", "give one such as 192.168.50.0/24")
	case d != d.Masked():
		return heddle.Errorf(heddle.BadSubnet, op, d.String(), "it has bits behind its length", "give "+d.Masked().String())
	case r.NextHop.IsValid() && r.Host:
		return heddle.Errorf(heddle.BadArgument, op, d.String(), "it has two next hops: "+r.NextHop.String()+" and the host", "name one")
	case r.NextHop.IsValid() && heddle.FamilyOf(r.NextHop) != heddle.FamilyOf(d.Addr()):
		return heddle.Errorf(heddle.BadAddress, op, d.String(), "next hop "+r.NextHop.String()+" is of another IP version", "give an address of the destination's version")
	}
	if i := slices.IndexFunc(never, func(p netip.Prefix) bool { return within(d, p) }); i >= 0 {
		return heddle.Errorf(heddle.BadSubnet, op, d.String(), never[i].String()+" is for a host or its link, and is not routed", "give another prefix")
	}
	return nil
}

// Goal says where a route leads.
func (r Route) Goal() string {
	if r.Host {
		return Host
	}
	if !r.NextHop.IsValid() {
		return Blackhole
	}
	return r.NextHop.String()
}

// Leads says where a route leads, and who is its next hop, since another endpoint may have that address by now.
func (r Route) Leads() string {
	if !r.NextHop.IsValid() {
		return r.Goal()
	}
	return r.Goal() + " of endpoint " + r.Endpoint.String()
}

// Same reports whether another route says the same.
func (r Route) Same(o Route) bool {
	return r.Destination == o.Destination && r.NextHop == o.NextHop && r.Host == o.Host && r.Endpoint == o.Endpoint
}

// Overrules reports whether a route to the prefix would take packets from a subnet.
func Overrules(destination, subnet netip.Prefix) bool { return within(destination, subnet) }

// within reports whether a prefix lies in another one, or is the same.
func within(p, in netip.Prefix) bool { return in.Bits() <= p.Bits() && in.Contains(p.Addr()) }
