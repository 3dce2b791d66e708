package dhcp

import "github.com/heddle-network/heddle"

// maxGuesses is how many answers with another transaction's number a client may get in one of its own, such as late ones. Whoever
// sends that many of the 2^32 numbers has no chance.
const maxGuesses = 64

// exposure is what containers beside may know of a transaction's number.
type exposure struct {
	// told says that an answer was to all. They have read it.
	told bool
	// guesses counts answers to the client with another number.
	guesses int
}

func (e exposure) secret() bool { return !e.told && e.guesses <= maxGuesses }

// asks reports whether an answer is to the machine's present question, and counts those that are to none.
func (m *Machine) asks(xid uint32, mac heddle.MAC) bool {
	if mac != m.id.MAC {
		return false
	}
	if xid != m.xid {
		m.exposure.guesses++
	}
	return xid == m.xid
}

// hears reports whether an answer to a MAC address counts, or to all (""). Servers answer to all, as they are asked to, or send what is to all
// to the client's MAC address alone (Kea). Who is beside can send the latter, too, if it knows the transaction: so in place of a broadcast
// it counts only while nobody can.
func (m *Machine) hears(toOne heddle.MAC) bool {
	switch {
	case toOne == "":
		return true
	case toOne != m.id.MAC:
		return false
	}
	return !m.id.Beside || !m.asksAll() || m.exposure.secret()
}

// asksAll reports whether an answer was asked for as a broadcast.
func (m *Machine) asksAll() bool {
	s := m.lease.State
	return s == selecting || s == requesting || s == rebooting
}

// listens reports whether frames to the client's MAC address are wanted that no interface takes: answers before the container has one, and what
// who has the address that is probed says.
func (m *Machine) listens() bool {
	return m.lease.State == probing || m.asksAll() && !m.leasedBefore
}
