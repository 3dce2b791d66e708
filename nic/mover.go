package nic

import (
	"context"
	"net/netip"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lazyregexp"
)

// Mover moves a NIC to another machine of the same provider, with its MAC address, its addresses and all that its switch
// port has. The machine that has the NIC permits the other one to take it (Permit). That one takes it with an order that
// says From, and confirms when its container has the NIC (Confirm). Until then Unplug by that machine
// gives it back to the first one, which plugs it in again.
type Mover interface {
	// Permit lets another machine take over the NIC of that token, for some minutes. The other machine's order has the token as.
	// An earlier permission of the NIC ends, unless it was used. With to "" there is none any more, and a NIC that was taken, and
	// not confirmed, is taken back. While there is a permission, Unplug leaves the port for the other machine.
	Permit(ctx context.Context, token, to, as string) error
	// Confirm ends a move: the NIC is this machine's, of that token. Called again it does nothing. If the move was called back
	// meanwhile, the error is heddle.NICNotGranted.
	Confirm(ctx context.Context, token string) error
}

// Permitted is a NIC of another machine that this one may take over, by an order with From, Token and Network.
type Permitted struct {
	From    string         `json:"from"`
	Token   string         `json:"token"`
	Network string         `json:"network"`
	MAC     heddle.MAC     `json:"mac"`
	Addrs   []netip.Prefix `json:"addrs,omitempty"`
}

// Check returns an error if p is malformed.
func (p Permitted) Check() error {
	err := CheckMachine(p.From)
	if err == nil {
		err = CheckToken(p.Token)
	}
	if err == nil {
		err = heddle.CheckNICNetwork(p.Network)
	}
	if err == nil {
		err = checkMAC(p.MAC)
	}
	if err == nil {
		err = checkPrefixes(p.Addrs)
	}
	return err
}

var machineName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// CheckMachine returns heddle.BadArgument if s cannot name a machine.
func CheckMachine(s string) error {
	if !machineName.MatchString(s) {
		return heddle.Errorf(heddle.BadArgument, "check name of machine", heddle.Visible(heddle.Clip(s), false), "the name is malformed",
			"give a name of at most 64 bytes that has only letters, digits, '_', '.', '-' and starts with a letter or digit")
	}
	return nil
}
