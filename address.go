package heddle

import "net/netip"

// Address is an address of an interface. IPv6 addresses skip duplicate address
// detection: the allocator has excluded duplicates, and detection would delay
// the first packet by a second.
type Address struct {
	Link   string       `json:"link"`
	Prefix netip.Prefix `json:"prefix"`
	// HostScope keeps an IPv4 address from being chosen as a source elsewhere; IPv6
	// has no such scopes.
	HostScope bool `json:"hostScope,omitempty"`
}

func (a Address) Key() string { return "address/" + a.Link + "/" + a.Prefix.String() }

func (a Address) comparable() any { return a }
