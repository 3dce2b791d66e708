// Package policy is what policies say: which endpoints may send what to whom. It has the noun with its checks, a model that
// answers whether a connection is allowed and by which rule, and what the host's firewall has to have so that it is enforced. It
// only computes.
//
// An endpoint that no policy selects is open. One that a policy selects for a direction is closed in that direction, but for what
// rules allow. The rules of all policies that select an endpoint are one list: the lowest priority number first, and of the same
// number what denies before what allows. The first rule that fits decides. A reply to what was allowed is allowed.
package policy

import (
	"net/netip"

	"github.com/heddle-network/heddle"
)

// Direction is the way of a connection, as seen from an endpoint.
type Direction string

// Ingress are connections to an endpoint, Egress those that it begins.
const Ingress, Egress Direction = "ingress", "egress"

// Action is what becomes of a connection that fits a rule.
type Action string

// Allow lets the connection pass, Deny drops its packets.
const Allow, Deny Action = "allow", "deny"

// Policy says what the endpoints that it selects may send and receive.
type Policy struct {
	Name string `json:"name" yaml:"name"`
	// Endpoints selects those that the policy is about.
	Endpoints Selector `json:"endpoints" yaml:"endpoints"`
	// Directions are those in which the selected endpoints are closed. Without any, they are those of the rules.
	Directions []Direction `json:"directions,omitempty" yaml:"directions"`
	Rules      []Rule      `json:"rules,omitempty" yaml:"rules"`
}

// Selector selects endpoints: those on one of the networks, with all of the labels, and with one of the names. What it leaves out
// does not matter.
type Selector struct {
	Networks []string          `json:"networks,omitempty" yaml:"networks"`
	Labels   map[string]string `json:"labels,omitempty" yaml:"labels"`
	Names    []string          `json:"names,omitempty" yaml:"names"`
}

// Rule allows or denies connections in one direction.
type Rule struct {
	Direction Direction `json:"direction" yaml:"direction"`
	Action    Action    `json:"action" yaml:"action"`
	// Priority orders rules, the lowest number first; nil is DefaultPriority.
	Priority *int `json:"priority,omitempty" yaml:"priority"`
	// Protocol is tcp, udp, sctp or icmp; "" is any.
	Protocol string `json:"protocol,omitempty" yaml:"protocol"`
	// Ports are the destination's, such as 443 or 8000-8100; without any, all.
	Ports []string `json:"ports,omitempty" yaml:"ports"`
	// Types are those of ICMP and ICMPv6; without any, all.
	Types []string `json:"types,omitempty" yaml:"types"`
	// Peers are who is at the other end; without any, everybody.
	Peers []Peer `json:"peers,omitempty" yaml:"peers"`
}

// Peer is who is at the other end of a connection: addresses, or a group of endpoints of this host.
type Peer struct {
	CIDR string `json:"cidr,omitempty" yaml:"cidr"`
	// Except are parts of CIDR that are not meant.
	Except []string `json:"except,omitempty" yaml:"except"`
	// Endpoints is a group, whose members come and go.
	Endpoints *Selector `json:"endpoints,omitempty" yaml:"endpoints"`
}

// DefaultPriority is that of a rule that names none, MaxPriority the largest number.
const DefaultPriority, MaxPriority = 1000, 65535

// Member is an endpoint as policies see it.
type Member struct {
	ID heddle.EndpointID
	// Network is the network's name, Mode its mode.
	Network, Mode string
	Name          string
	Labels        map[string]string
	// Port is the host's end of its link. It is "" if nothing on this host sees all its packets.
	Port string
	// Addrs are its addresses, without the link-local one.
	Addrs []netip.Addr
	// Shared are addresses that it may send from as well as others may (HAVIPs), Held those of them whose packets it gets. A rule that denies
	// a group means what its endpoints share, too; one that allows a group does not, since others that share it may be none of the group.
	Shared, Held []netip.Addr
}

// Policies are all of a host, by name.
type Policies map[string]Policy

// Shown is a policy with the endpoints of this host that it selects.
type Shown struct {
	Policy
	Selected []heddle.EndpointID `json:"selected"`
}
