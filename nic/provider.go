package nic

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lazyregexp"
)

// Provider plugs NICs into this machine when they are asked for, and takes them out again.
// Methods may be called at the same time. Errors are of type *heddle.Error.
type Provider interface {
	// Plug returns the NIC of order.Token, plugged. Called again with the same token, as after a
	// lost answer, it returns the same NIC. An order of that token for another network, MAC or
	// address is refused with heddle.EndpointDiffers. After an error, call Plug again, or Unplug.
	Plug(ctx context.Context, order Order) (Card, error)
	// Unplug takes the NIC of that token out of the machine and deletes it. One that is not there is
	// no error.
	Unplug(ctx context.Context, token string) error
	// List returns all NICs of this machine that the provider knows, in the order of their tokens.
	List(ctx context.Context) ([]Card, error)
	// Watch returns when the machine's NICs or its offer are not as at since any more, and what to name this state in the next call. An
	// empty since is no state. It returns since itself when it has waited for long, and always from a provider that is not told
	// of changes: a caller lists the NICs now and then all the same.
	Watch(ctx context.Context, since string) (now string, err error)
	// Describe tells what the provider can give to this machine.
	Describe(ctx context.Context) (Offer, error)
	Mover
}

// Addresser is an optional interface of providers whose NICs can have several addresses.
type Addresser interface {
	// Assign gives the NIC of that token further addresses until it has at least that many sets of them. Called again, as after a lost
	// answer, it gives no more. If not all can be given, none is.
	Assign(ctx context.Context, token string, sets int) (Card, error)
	// Unassign takes the set of further addresses with that address from the NIC. One that the NIC does not have is no error. The
	// caller has seen to it that nobody uses it. One of Card.Prefixes is refused with heddle.BadArgument: it does not go alone.
	Unassign(ctx context.Context, token string, a netip.Addr) error
}

// Prefixer is an optional interface of providers that give a NIC further addresses by whole prefixes.
type Prefixer interface {
	// UnassignPrefix takes one of Card.Prefixes from the NIC, with all of its addresses. One that the NIC does not have is no error. The caller has seen to it that nobody
	// uses any of them.
	UnassignPrefix(ctx context.Context, token string, prefix netip.Prefix) error
}

// Limiter is an optional interface of providers that can limit what passes a NIC, where the machine does not reach.
type Limiter interface {
	// Limit has the NIC of that token receive and send no more than that, seen from who has it; without a rate, as much as the provider
	// allows. The provider may allow less: Card.Limits says what holds. Called again it changes nothing, and after an error nothing is changed.
	Limit(ctx context.Context, token string, asked heddle.RateLimits) (Card, error)
}

// Order asks for a NIC.
type Order struct {
	// Token is the caller's name for the NIC. The caller chooses it, and keeps it until the NIC is unplugged.
	Token string `json:"token"`
	// Network is one of Offer.Networks.
	Network string `json:"network"`
	// MAC is optional: if it is empty, the provider chooses one.
	MAC heddle.MAC `json:"mac,omitempty"`
	// Chosen makes MAC a wish, for providers that choose all MAC addresses: they call it with the NIC's before the machine can see
	// the NIC. If it fails, so does the order. Without it a NIC of another MAC address is refused.
	Chosen func(heddle.MAC) error `json:"-"`
	// IPs asks for at most one address of each family. The provider chooses the addresses of families that
	// the network has and IPs lacks.
	IPs []netip.Addr `json:"ips,omitempty"`
	// From is the machine whose NIC is to be taken over, which has permitted it; see Mover.
	From string `json:"from,omitempty"`
}

// Card is a NIC that a provider made for this machine.
type Card struct {
	Token   string `json:"token"`
	Network string `json:"network"`
	// MAC is how the NIC is found in the machine.
	MAC heddle.MAC `json:"mac"`
	// Addrs are its addresses, at most one of each family, with the lengths of the network's subnets. The
	// switch port lets no other source address pass.
	Addrs []netip.Prefix `json:"addrs,omitempty"`
	// Further are sets of further addresses, each as Addrs, which the switch port lets pass as well.
	Further [][]netip.Prefix `json:"further,omitempty"`
	// Prefixes are IPv4 prefixes whose addresses, among those of Further, come and go together. Full says that the NIC can have no further addresses besides.
	Prefixes []netip.Prefix `json:"prefixes,omitempty"`
	Full     bool           `json:"full,omitempty"`
	// Gateways are the network's, at most one of each family. They need not be in its subnets: one of IPv6 may be link-local, also outside of fe80::/64.
	Gateways []netip.Addr `json:"gateways,omitempty"`
	// Closed are destinations that no container may reach by the NIC; see heddle.PluggedNIC.
	Closed []netip.Prefix `json:"closed,omitempty"`
	// MTU in bytes.
	MTU int `json:"mtu"`
	// Asked is what Limiter.Limit was asked for last, Limits what the NIC may receive and send.
	Asked  heddle.RateLimits `json:"asked,omitzero"`
	Limits heddle.RateLimits `json:"limits,omitzero"`
	// Plugged says that the machine has the device. Without it there is a switch port only: Plug plugs it,
	// and Unplug deletes it.
	Plugged bool `json:"plugged"`
	// From is the machine that had the NIC, until Mover.Confirm is called; see Mover.
	From string `json:"from,omitempty"`
	// To is the machine that may take the NIC over, Taken says that it has it, and has not confirmed.
	To    string `json:"to,omitempty"`
	Taken bool   `json:"taken,omitempty"`
	// Dark is how long no machine had the NIC, in nanoseconds, in the answer to an order that took it over.
	Dark time.Duration `json:"dark,omitempty"`
}

// Offer is what a provider can give to this machine.
type Offer struct {
	// Machine is the provider's name for this machine.
	Machine string `json:"machine"`
	// Networks are those on which the machine may have NICs.
	Networks []string `json:"networks"`
	// Slots is how many NICs the machine may have at a time, Free how many more it can have now.
	Slots int `json:"slots"`
	Free  int `json:"free"`
	// Addresses is how many sets of further addresses a NIC may have; 0 if none.
	Addresses int `json:"addresses,omitempty"`
	// DHCP are those of Networks on which a DHCP server may be asked for a NIC's IPv4 address: the port lets the question pass and the
	// answer. If the NIC's card has an IPv4 address, the lease has to be of that; otherwise the server chooses.
	DHCP []string `json:"dhcp,omitempty"`
	// Permitted are NICs of other machines that this one may take over.
	Permitted []Permitted `json:"permitted,omitempty"`
}

var tokenForm = lazyregexp.New(`^[a-z0-9][a-z0-9-]{0,63}$`)

// CheckToken returns heddle.BadID if s cannot be the token of an order.
func CheckToken(s string) error {
	if !tokenForm.MatchString(s) {
		return heddle.Errorf(heddle.BadID, "check token of NIC", heddle.Visible(heddle.Clip(s), false), "it is malformed",
			"give a token of at most 64 bytes that has only letters a to z, digits and '-', and starts with a letter or digit")
	}
	return nil
}

// Check returns an error if the order is malformed: of code heddle.BadID, BadName, BadMAC or BadAddress.
func (o Order) Check() error {
	if err := CheckToken(o.Token); err != nil {
		return err
	}
	if err := heddle.CheckNICNetwork(o.Network); err != nil {
		return err
	}
	if o.MAC != "" {
		if err := checkMAC(o.MAC); err != nil {
			return err
		}
	}
	if o.From != "" {
		if err := CheckMachine(o.From); err != nil {
			return err
		}
	}
	for i, a := range o.IPs {
		why := ""
		switch {
		case !a.IsValid() || a.Is4In6() || a.Zone() != "" || a.IsUnspecified() || a.IsMulticast() || a.IsLoopback():
			why = "it is no unicast address that a NIC can have"
		case has(o.IPs[:i], heddle.FamilyOf(a)):
			why = "it is the second " + heddle.FamilyOf(a).String() + " address"
		default:
			continue
		}
		return heddle.Errorf(heddle.BadAddress, "check address of NIC", a.String(), why, "give at most one address of each family, from the network's subnets")
	}
	return nil
}

// Check returns an error if a card is not an answer to an order of that token and network ("": any). A
// caller checks with it what another machine says.
func (c Card) Check(token, network string) error {
	if c.Token != token || network != "" && c.Network != network {
		return fmt.Errorf("it is about NIC %q of network %q", heddle.Clip(c.Token), heddle.Clip(c.Network))
	}
	if err := CheckToken(c.Token); err != nil {
		return err
	}
	if err := heddle.CheckNICNetwork(c.Network); err != nil {
		return err
	}
	if err := checkMAC(c.MAC); err != nil {
		return err
	}
	if err := checkPrefixes(c.Addrs); err != nil {
		return err
	}
	if err := c.checkFurther(); err != nil {
		return err
	}
	for _, m := range []string{c.From, c.To} {
		if m != "" && CheckMachine(m) != nil {
			return fmt.Errorf("%q is no name of a machine", heddle.Clip(m))
		}
	}
	for i, g := range c.Gateways {
		if !g.IsValid() || has(c.Gateways[:i], heddle.FamilyOf(g)) {
			return fmt.Errorf("gateway %v is malformed, or the second one of its family", g)
		}
	}
	for _, p := range c.Closed {
		if !p.IsValid() || p != p.Masked() {
			return fmt.Errorf("closed prefix %v is malformed", p)
		}
	}
	if c.MTU < 68 || c.MTU > 65535 { // RFC 791, 3.2; the length of a packet has 16 bits
		return fmt.Errorf("its MTU is %d bytes", c.MTU)
	}
	return nil
}

// checkFurther returns an error if a set of further addresses is malformed, or an address is there twice.
func (c Card) checkFurther() error {
	if len(c.Further) > heddle.MaxFurther {
		return fmt.Errorf("it has %d sets of further addresses", len(c.Further))
	}
	if len(c.Prefixes) > heddle.MaxFurther {
		return fmt.Errorf("it has %d prefixes", len(c.Prefixes))
	}
	for _, p := range c.Prefixes {
		if !p.IsValid() || p != p.Masked() || !p.Addr().Is4() {
			return fmt.Errorf("prefix %v is malformed", p)
		}
	}
	seen := map[netip.Addr]bool{}
	for _, set := range append([][]netip.Prefix{c.Addrs}, c.Further...) {
		if err := checkPrefixes(set); err != nil {
			return err
		}
		for _, p := range set {
			if seen[p.Addr()] {
				return fmt.Errorf("address %v is there twice", p.Addr())
			}
			seen[p.Addr()] = true
		}
	}
	return nil
}

// checkPrefixes returns an error if there is more than one address of a family, or one is malformed.
func checkPrefixes(all []netip.Prefix) error {
	var addrs []netip.Addr
	for _, p := range all {
		if !p.IsValid() || has(addrs, heddle.FamilyOf(p.Addr())) {
			return fmt.Errorf("address %v is malformed, or the second one of its family", p)
		}
		addrs = append(addrs, p.Addr())
	}
	return nil
}

// checkMAC returns heddle.BadMAC for an address that is not in the form that heddle.ParseMAC returns.
func checkMAC(m heddle.MAC) error {
	parsed, err := heddle.ParseMAC(string(m))
	if err == nil && parsed != m {
		err = heddle.Errorf(heddle.BadMAC, "check MAC address", heddle.Clip(string(m)), "it is not in the usual form", "write "+string(parsed))
	}
	return err
}

func has(all []netip.Addr, f heddle.Family) bool {
	for _, a := range all {
		if f.Has(a) {
			return true
		}
	}
	return false
}
