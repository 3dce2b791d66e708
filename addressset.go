package heddle

import (
	"fmt"
	"net/netip"
	"slices"
)

// AddressSet is one further address of each family that the interface of a virtual machine has.
type AddressSet struct {
	// Number tells the sets of an endpoint apart, from 1 on. That of a set that is gone is used again.
	Number int `json:"number"`
	// Addrs has one address for each subnet, with the subnet's length.
	Addrs []netip.Prefix `json:"addrs"`
}

// Has reports whether the set has the address.
func (s AddressSet) Has(a netip.Addr) bool {
	return slices.ContainsFunc(s.Addrs, func(p netip.Prefix) bool { return p.Addr() == a })
}

// AllAddrs are the endpoint's addresses, and then its further ones.
func (e Endpoint) AllAddrs() []netip.Prefix {
	all := e.Addrs
	for _, s := range e.Further {
		all = slices.Concat(all, s.Addrs)
	}
	return all
}

// FurtherID is under which ID a set of further addresses is leased. No endpoint can have it: it is no name of an interface.
func (id EndpointID) FurtherID(number int) EndpointID {
	return EndpointID{id.Container, fmt.Sprintf("%s:%d", id.IfName, number)}
}

// MaxFurther is how many sets of further addresses an interface may have.
const MaxFurther = 255
