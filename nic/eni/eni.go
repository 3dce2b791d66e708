// Package eni is what providers of clouds' NICs have in common: each NIC is an elastic network interface of its own, made, attached, detached and deleted
// when the agent asks. It keeps no record: whose NIC it is say its tags in the cloud. What one cloud's calls are, and what it answers, says a Cloud.
package eni

import (
	"context"
	"net/netip"
	"time"

	"github.com/heddle-network/heddle"
)

// Cloud is a cloud's API, as Provider needs it. Start is called by one at a time, until it succeeds; the others are called after that, and at the same time.
// Errors are of type *heddle.Error. What an API said has a Failure in them; Calls sees to that.
type Cloud interface {
	// Start finds out what this machine is.
	Start(ctx context.Context) (Machine, error)
	// Find returns NICs that a filter picks, but for those that are being deleted. It may return others. object is what it is about, for errors.
	Find(ctx context.Context, object string, f Filter) ([]NIC, error)
	// Create makes a NIC with the order's tags, which is attached to nothing.
	Create(ctx context.Context, o Order) (NIC, error)
	// Change has the cloud begin a step. A Failure that is Changing or Gone says that the NIC was not as it was described.
	Change(ctx context.Context, s Step, n NIC) error
	// Subnet and Limits are asked for once.
	Subnet(ctx context.Context, id string) (Subnet, error)
	Limits(ctx context.Context) (Limits, error)
	// AssignFours gives a NIC so many further IPv4 addresses, and returns what the cloud says to have given. AssignSixes gives it certain IPv6 addresses.
	AssignFours(ctx context.Context, id string, count int) (given []string, err error)
	AssignSixes(ctx context.Context, id string, all []netip.Addr) (given []string, err error)
	// AssignBlocks gives a NIC so many IPv4 prefixes of blockBits, which the cloud chooses, and returns what it says to have given. An error of code heddle.PoolExhausted
	// says that the subnet has none that is free. AssignSixBlock gives it one IPv6 prefix of sixBlockBits.
	AssignBlocks(ctx context.Context, id string, count int) (given []string, err error)
	AssignSixBlock(ctx context.Context, id string) (given []string, err error)
	// Unassign takes a further address, which is a prefix of one address, or an assigned prefix from a NIC. One that it does not have is no error.
	Unassign(ctx context.Context, id string, x netip.Prefix) error
}

// Settings are what is known of a cloud, and of its file, beforehand.
type Settings struct {
	// Name is the cloud's.
	Name string
	// Subnets are those of the file of --nic-cloud, by the names of its networks.
	Subnets map[string]string
	// Most is how many NICs the agent may have at a time; 0 is as many as the machine may have.
	Most int
	// Prefixes says that NICs get further addresses by whole prefixes.
	Prefixes bool
	// MTU of the NICs in bytes.
	MTU int
	// Closed are destinations that no container may reach.
	Closed []netip.Prefix
	// Lag is how long the API may show a NIC as it was before it was changed.
	Lag time.Duration
}

// Machine is what this machine is in the cloud.
type Machine struct {
	// ID is the instance's, Type says what it may have.
	ID, Type string
}

// Order asks for a new NIC.
type Order struct {
	Token, Network string
	// Tags are those that the NIC is to have, in order.
	Tags []Tag
	// IPs are addresses that it is to have, at most one of each family. If none is of IPv6, it is to have one if Six says so.
	IPs []netip.Addr
	Six bool
}

// Tag is a key and its value.
type Tag struct{ Key, Value string }

// Tags of NICs that an agent has ordered. They are the only record of whose NIC it is.
const (
	TagMachine = "heddle-machine" // the instance's ID
	TagToken   = "heddle-nic"     // nic.Order.Token
	TagNetwork = "heddle-network" // nic.Order.Network
)

// Subnet is a subnet of the cloud.
type Subnet struct {
	V4, V6 netip.Prefix // the zero value if it has none
	// Gateway4 and Gateway6 are its routers.
	Gateway4, Gateway6 netip.Addr
	// First and Last are the first and the last IPv4 address that a NIC can have.
	First, Last netip.Addr
}

// of is the prefix that has an address, and its router; the zero values if none has.
func (s Subnet) of(a netip.Addr) (on netip.Prefix, gateway netip.Addr) {
	switch {
	case s.V4.Contains(a):
		return s.V4, s.Gateway4
	case s.V6.Contains(a):
		return s.V6, s.Gateway6
	}
	return netip.Prefix{}, netip.Addr{}
}

// usable reports whether a NIC of the subnet can have an IPv4 address.
func (s Subnet) usable(a netip.Addr) bool {
	return a.Is4() && s.V4.Contains(a) && !a.Less(s.First) && !s.Last.Less(a)
}

// Limits are what this machine may have.
type Limits struct {
	NICs  int // with the primary one
	Fours int // IPv4 addresses of a NIC, the first one among them
	Sixes int // IPv6 addresses of a NIC
	// NoPrefixes is why a NIC can have no prefixes; "" if it can. A prefix counts as an address does.
	NoPrefixes string
}

// sets is how many sets of further addresses a NIC may have. Its first addresses are among those that it may have. If it may
// have several IPv6 addresses, each set on a subnet with IPv6 takes one.
func (l Limits) sets() int {
	most := l.Fours
	if l.manySix() {
		most = min(most, l.Sixes)
	}
	return min(max(0, most-1), heddle.MaxFurther)
}

func (l Limits) manySix() bool { return l.Sixes > 1 }

// paired reports whether sets of a subnet have an IPv6 address.
func (l Limits) paired(at Subnet) bool {
	return l.manySix() && at.V6.IsValid() && at.V6.Bits() <= partnerBits
}
