package dhcp

import (
	"cmp"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/heddle-network/heddle"
)

// Receive takes a server's answer. One that is not of this client's transaction, or not of the server
// whose word counts in this state, changes nothing. Nor does a frame from the client's own MAC address: a
// container that shares it with others can send to their parent by that (ipvlan).
func (m *Machine) Receive(now time.Time, a Message) (send [][]byte) {
	if !m.asks(a.XID, a.MAC) {
		return nil
	}
	if a.ToOne == "" {
		m.exposure.told = true
	}
	if m.tries == 0 || !usableAddr(a.Server) || a.ServerMAC == m.id.MAC || !m.hears(a.ToOne) {
		return nil
	}
	ack, nak := a.Type == dhcpv4.MessageTypeAck, a.Type == dhcpv4.MessageTypeNak
	switch m.lease.State {
	case selecting:
		if a.Type == dhcpv4.MessageTypeOffer {
			return m.choose(now, a)
		}
	case requesting:
		switch {
		case a.Server != m.offer.Server:
		case nak:
			m.restart(now, "server "+a.Server.String()+" took its offer back")
		case ack && a.Address.Addr() == m.offer.Address.Addr():
			return m.confirm(now, a)
		}
	case renewing, rebooting, rebinding:
		switch {
		case a.Server != m.lease.Server && m.lease.State != rebinding:
		case nak:
			m.lose("server " + a.Server.String() + " does not let the container keep " + m.lease.Address.String())
			m.restart(now, m.lease.Trouble)
		case ack && a.Address.Addr() == m.lease.Address.Addr():
			m.renew(now, a)
		}
	}
	return nil
}

// noLease says why an answer is no lease for the client, "" if it is one.
func (m *Machine) noLease(a Message) string {
	why := Unusable(a.Address)
	switch only := m.id.Only; {
	case why != "":
	case a.Lease < leastLease:
		why = "the lease of " + a.Lease.String() + " is too short"
	case only.IsValid() && a.Address.Addr() != only:
		why = "it is of " + a.Address.Addr().String() + ", and the switch lets no address pass but " + only.String()
	}
	return why
}

// whyNot says why a confirmation is refused, "" if it is not.
func (m *Machine) whyNot(a Message) string {
	if why := m.noLease(a); why != "" {
		return why
	}
	return m.refuse(a.Address)
}

// sharedHint tells why a server may give an address twice.
const sharedHint = " (containers of the network have one MAC address: a server has to tell them apart by the client identifier)"

// choose requests the first offer of a lease. One of an address that is in use on this host is requested,
// too, and then declined: else the server would not hear of it, and would offer it for ever. Not so if the
// client shares its MAC address: a server that knows clients by that would end the lease of who has it.
//
// Whoever beside had the client's MAC address before has read an offer that was to it alone. So the request after such an offer is a transaction
// of its own, which is known to others only by the confirmation.
func (m *Machine) choose(now time.Time, a Message) [][]byte {
	why := m.noLease(a)
	if why == "" && m.id.SharesMAC {
		if why = m.refuse(a.Address); why != "" {
			why += sharedHint
		}
	}
	if why != "" {
		m.lease.Trouble = "an offer of server " + a.Server.String() + " is refused: " + why
		return nil
	}
	m.offer = a
	xid, known := m.xid, m.exposure
	if m.enter(requesting, now); !m.id.Beside || a.ToOne == "" {
		m.xid, m.exposure = xid, known // the request is of the offer's transaction (RFC 2131, 4.3.2)
	}
	return m.Tick(now)
}

// confirm probes the address that a server has confirmed, or declines it.
func (m *Machine) confirm(now time.Time, a Message) [][]byte {
	m.offer = a
	switch why := m.whyNot(a); {
	case why != "" && m.id.SharesMAC:
		m.restart(now, "an answer of server "+a.Server.String()+" is refused: "+why+sharedHint)
		return nil
	case why != "":
		return m.decline(now, "an answer of server "+a.Server.String()+" is refused: "+why)
	}
	m.enter(probing, now)
	return m.Tick(now)
}

// renew takes more time for the lease.
func (m *Machine) renew(now time.Time, a Message) {
	if why := m.whyNot(a); why != "" {
		m.lease.Trouble = "more time from server " + a.Server.String() + " is refused: " + why
		return
	}
	m.take(a, m.asked, now)
}

// decline tells the server that its address is of no use, and begins anew: if that is not the first
// failure, not before declineWait is over.
func (m *Machine) decline(now time.Time, why string) [][]byte {
	q := request{kind: dhcpv4.MessageTypeDecline, xid: m.xid, asked: m.offer.Address.Addr(), server: m.offer.Server}
	m.lease.Address = netip.Prefix{} // and does not ask for it again
	again := m.failures > 0
	if m.restart(now, why); again {
		m.next = now.Add(max(m.next.Sub(now), declineWait))
	}
	return [][]byte{q.frame(m.id)}
}

// take holds the lease of an answer to what was asked at a time: that is when it begins (RFC 2131, 4.4.1).
func (m *Machine) take(a Message, asked, now time.Time) {
	asked = asked.Round(0)  // by the wall clock: a machine may sleep meanwhile
	late := a.Lease / 8 * 7 // in this order: an infinite lease has 2^32-1 seconds
	t2 := cmp.Or(a.T2, late)
	t1 := cmp.Or(a.T1, a.Lease/2)
	if t1 >= t2 || t2 >= a.Lease || t1 < time.Second { // nonsense of the server: the times of RFC 2131, 4.4.5
		t1, t2 = a.Lease/2, late
	}
	l := heddle.DHCPLease{State: bound, Held: true, Address: a.Address, Server: a.Server, ServerMAC: a.ServerMAC,
		DNS: a.DNS, Domain: a.Domain, Search: a.Search, MTU: a.MTU,
		Renew: asked.Add(t1), Rebind: asked.Add(t2), Expires: asked.Add(a.Lease)}
	if usableAddr(a.Router) && a.Router != a.Address.Addr() && a.Address.Contains(a.Router) {
		l.Router = a.Router
	}
	m.enter(bound, now)
	m.lease, m.failures, m.next, m.leasedBefore = l, 0, l.Renew, true
}

// Release tells the server that the lease is not needed any more (RFC 2131, 4.4.6).
func (m *Machine) Release() [][]byte {
	if m.lease.State == probing {
		m.lease.Held, m.lease.Address, m.lease.Server, m.lease.ServerMAC = true, m.offer.Address, m.offer.Server, m.offer.ServerMAC
	}
	m.lease.State = selecting
	if !m.lease.Held {
		return nil
	}
	m.lease.Held = false
	q := request{kind: dhcpv4.MessageTypeRelease, xid: rand.Uint32(), ciaddr: m.lease.Address.Addr(), server: m.lease.Server, toMAC: m.lease.ServerMAC}
	return [][]byte{q.frame(m.id)}
}
