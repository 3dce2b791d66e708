package service

import (
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// Port is a guarded switch port of one of this host's networks, with a TAP. A device in a machine has the TAP's name as its id.
type Port struct {
	// ID is the agent's name for it.
	ID heddle.EndpointID
	// Machine is whose NIC it is, Card.Token that machine's name for it. Of Card only what belongs to the port is set.
	Machine string
	Card    nic.Card
	// TAP is the name of its device.
	TAP string
	// MultiQueue says that it was made for several pairs of queues.
	MultiQueue bool
	Move       Move
}

// Move is a move to another machine, from its permission to its confirmation.
type Move struct {
	// To may take the NIC over, and calls it As then, until the time Until.
	To, As string
	Until  time.Time
	// Taken says that To has taken it over, and has not confirmed. Left says that the machine which had it wants it no more.
	Taken, Left bool
}

// permitted reports whether the machine may take the port's NIC over now.
func (p Port) permitted(machine string, now time.Time) bool {
	return p.Move.To == machine && !p.Move.Taken && now.Before(p.Move.Until)
}

// MovesTo is the machine that may take the port's NIC over, or has taken it and not confirmed; "" if none.
func (p Port) MovesTo(now time.Time) string {
	if p.Move.Taken || p.permitted(p.Move.To, now) {
		return p.Move.To
	}
	return ""
}

// takenBy reports whether the machine has taken the NIC over, and has not confirmed.
func (p Port) takenBy(machine string) bool { return p.Move.Taken && p.Move.To == machine }

// holder is the machine that has the NIC, or is about to.
func (p Port) holder() string {
	if p.Move.Taken {
		return p.Move.To
	}
	return p.Machine
}

// concerns reports whether the NIC is a machine's: it has it, or it has taken it over, or it may still call it back.
func (p Port) concerns(machine string) bool { return p.Machine == machine || p.takenBy(machine) }

// is reports whether the machine calls the NIC by that token.
func (p Port) is(machine, token string) bool {
	return p.Machine == machine && p.Card.Token == token || p.takenBy(machine) && p.Move.As == token
}

// over reports whether nobody wants the port any more.
func (p Port) over(now time.Time) bool {
	return p.Move.Left && !p.Move.Taken && !now.Before(p.Move.Until)
}

// cardFor is what a machine is told of its NIC. It is not for a machine that has let go of it.
func (p Port) cardFor(machine string, now time.Time) (c nic.Card, has bool) {
	c = p.Card
	if p.takenBy(machine) {
		c.Token, c.From = p.Move.As, p.Machine
		return c, true
	}
	c.To, c.Taken = p.MovesTo(now), p.Move.Taken
	return c, p.Machine == machine && !p.Move.Left
}
