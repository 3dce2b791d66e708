package dhcp

import (
	"net/netip"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv6"
	"github.com/insomniacslk/dhcp/iana"

	"github.com/heddle-network/heddle"
)

// asks6 reports whether an answer is to the machine's present question.
func (m *Machine6) asks6(xid uint32, client netip.Addr) bool {
	return m.lease.asks() && m.lease.tries > 0 && xid == m.lease.xid && client == m.link.address
}

// Receive takes a DHCPv6 server's answer. One that is not of this client's transaction, or not of the server whose word counts in this
// state, changes nothing.
func (m *Machine6) Receive(now time.Time, a Message6) (send [][]byte) {
	l := &m.lease
	if !m.asks6(a.XID, a.Client) || a.ClientDUID != duidText(m.id.duid()) || a.Server == "" {
		return nil
	}
	ia, has := a.IAs[m.id.iaid()]
	if a.Status != iana.StatusSuccess {
		ia.Status = a.Status
	}
	reply := a.Type == dhcpv6.MessageTypeReply
	switch l.state {
	case selecting:
		if !reply {
			send = m.choose6(now, a.Server, ia)
		}
	case requesting:
		if reply && a.Server == l.server {
			send = m.confirm6(now, ia)
		}
	case confirming:
		switch {
		case reply && a.Status == iana.StatusNotOnLink:
			m.lose6(now, "a DHCPv6 server says that "+l.address.String()+" is not of this link")
		case reply && a.Status == iana.StatusSuccess:
			l.enter(bound, now)
			send = m.tickLease(now)
		}
	case renewing, rebinding:
		if reply && (a.Server == l.server || l.state == rebinding) && has {
			m.renew6(now, a.Server, ia)
		}
	}
	m.tell(now)
	return send
}

// usable is the first address of an answer that a host can have for a while, and why there is none.
func usable(ia Association) (a LeasedAddress, why string) {
	why = "the DHCPv6 server has no address"
	if ia.Status != iana.StatusSuccess {
		return a, why + " (" + ia.Status.String() + ")"
	}
	for _, a := range ia.Addresses {
		switch {
		case !isGlobal(a.Address):
			why = "the DHCPv6 server gives " + a.Address.String() + ", which is no address of a host"
		case a.Valid < leastLease || a.Preferred > a.Valid:
			why = "the DHCPv6 server gives " + a.Address.String() + " for " + a.Valid.String() + ", preferred for " + a.Preferred.String()
		default:
			return a, ""
		}
	}
	return a, why
}

// choose6 requests the first offer of an address: an attach waits, so others are not waited for (RFC 8415, 18.2.1 would wait a second).
func (m *Machine6) choose6(now time.Time, server string, ia Association) [][]byte {
	l := &m.lease
	a, why := usable(ia)
	if why != "" {
		l.trouble = why
		return nil
	}
	l.server, l.offered = server, a
	l.enter(requesting, now)
	return m.tickLease(now)
}

// confirm6 has the LAN asked about the address that a server has confirmed, or declines it.
func (m *Machine6) confirm6(now time.Time, ia Association) [][]byte {
	l := &m.lease
	a, why := usable(ia)
	if why != "" {
		m.restart6(now, why)
		return nil
	}
	l.offered, l.t1, l.t2 = a, ia.T1, ia.T2
	if c := m.claimOf(a.Address); c != nil && c.source == heddle.SourceDHCPv6 && c.held() {
		m.extend(now, c, a, ia.T1, ia.T2)
		return nil
	}
	c := &claim{source: heddle.SourceDHCPv6, address: a.Address, valid: now.Add(a.Valid), preferred: now.Add(a.Preferred)}
	if other := m.claimOf(a.Address); other != nil || a.Address == m.link.address {
		return m.decline6(now, c, a.Address.String()+", which the DHCPv6 server gives, is the endpoint's own")
	}
	m.claims = append(m.claims, c)
	if m.begin(now, c); !c.probing {
		return m.decline6(now, c, m.trouble)
	}
	l.enter(probing, now)
	return m.probe(now, c)
}

// decline6 tells the server that its address is of no use (RFC 8415, 18.2.8), and begins anew: if that is not the first failure, not
// before declineWait is over.
func (m *Machine6) decline6(now time.Time, c *claim, why string) [][]byte {
	l := &m.lease
	m.dropClaim(c.address)
	q := request6{kind: dhcpv6.MessageTypeDecline, xid: l.xid, server: l.server, address: c.address}
	again := l.failures > 0
	if m.restart6(now, why); again {
		l.next = now.Add(max(l.next.Sub(now), declineWait))
	}
	return [][]byte{serversFrame(m.id.MAC, m.link.address, q.payload(m.id))}
}

// renew6 takes more time for the address, or its end.
func (m *Machine6) renew6(now time.Time, server string, ia Association) {
	l, held := &m.lease, m.claimOf(m.lease.address)
	if held == nil {
		return
	}
	if ia.Status == iana.StatusNoBinding { // it has forgotten the lease: it is asked for anew, and stands meanwhile (RFC 8415, 18.2.10.1)
		l.server, l.offered = server, LeasedAddress{Address: l.address}
		l.enter(requesting, now)
		return
	}
	for _, a := range ia.Addresses {
		if a.Address != l.address || ia.Status != iana.StatusSuccess {
			continue
		}
		if a.Valid == 0 {
			m.lose6(now, "the DHCPv6 server does not let the container keep "+a.Address.String())
			return
		}
		if _, why := usable(Association{Addresses: []LeasedAddress{a}}); why != "" {
			l.trouble = why
			return
		}
		l.server = server
		m.extend(now, held, a, ia.T1, ia.T2)
		return
	}
}
