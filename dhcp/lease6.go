package dhcp

import (
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv6"

	"github.com/heddle-network/heddle"
)

// confirming is the state after a restart: servers are asked whether the address is one of this link (RFC 8415, 18.2.3). What the server
// is asked in states of the same names as in DHCPv4 is otherwise the same; selecting is to solicit.
const confirming = "confirming"

// longestSolicit is how long the client waits at most between two questions whether there is a DHCPv6 server (RFC 8415, 7.6: SOL_MAX_RT).
const longestSolicit = time.Hour

// lease6 is what the endpoint has, or asks, of DHCPv6 servers.
type lease6 struct {
	state   string // "" as long as no router says that there is one
	xid     uint32
	server  string // DUID
	address netip.Addr
	// offered are the times of an address that is probed.
	offered       LeasedAddress
	t1, t2        time.Duration
	renew, rebind time.Time
	// As in Machine.
	tries, failures    int
	began, asked, next time.Time
	trouble            string
}

// asks reports whether the state has something due, and answers are awaited.
func (l *lease6) asks() bool { return l.state != "" && l.state != probing }

// settled reports whether the server has answered, or has not in time.
func (l *lease6) settled() bool {
	return l.state == "" || l.state == bound || l.state == renewing || l.state == rebinding || l.failures > 0 || l.tries >= enoughAsked
}

// begin asks for an address, if that has not begun.
func (l *lease6) begin(now time.Time) {
	if l.state == "" {
		l.enter(selecting, now)
	}
}

// enter begins a state, with a transaction of its own.
func (l *lease6) enter(state string, now time.Time) {
	l.state, l.tries, l.began, l.next, l.xid = state, 0, now, now, rand.Uint32()&0xffffff
}

// restart6 begins anew after a failure, later each time.
func (m *Machine6) restart6(now time.Time, why string) {
	l := &m.lease
	l.trouble = why
	l.enter(selecting, now)
	l.next = now.Add(waitUpTo(l.failures, longestSolicit))
	l.failures++
}

// lose6 ends the use of the address of a server.
func (m *Machine6) lose6(now time.Time, why string) {
	m.dropClaim(m.lease.address)
	m.lease.address = netip.Addr{}
	m.restart6(now, why)
}

// tickLease does what is due.
func (m *Machine6) tickLease(now time.Time) [][]byte {
	l := &m.lease
	if !l.asks() {
		return nil
	}
	held := m.claimOf(l.address)
	if held == nil && l.state != selecting && l.state != requesting {
		l.failures = 0
		m.lose6(now, "the address of the DHCPv6 server has expired: no server renewed it")
		l.next = now
	}
	if now.Before(l.next) {
		return nil
	}
	switch l.state {
	case selecting:
		return m.ask6(now, waitUpTo(l.tries, longestSolicit), request6{kind: dhcpv6.MessageTypeSolicit, address: l.address})
	case requesting:
		if l.tries == maxRequests {
			m.restart6(now, "the DHCPv6 server offered "+l.offered.Address.String()+" and did not confirm it")
			return nil
		}
		return m.ask6(now, wait(l.tries), request6{kind: dhcpv6.MessageTypeRequest, server: l.server, address: l.offered.Address})
	case confirming:
		if l.tries < maxRequests {
			return m.ask6(now, wait(l.tries), request6{kind: dhcpv6.MessageTypeConfirm, address: l.address})
		}
		l.state = bound // nobody says no (RFC 8415, 18.2.3)
	}
	return m.keep6(now, held.valid)
}

// keep6 renews the lease when that is due.
func (m *Machine6) keep6(now, ends time.Time) [][]byte {
	l := &m.lease
	switch {
	case now.Before(l.renew):
		l.state, l.next = bound, l.renew
		return nil
	case now.Before(l.rebind):
		if l.state != renewing {
			l.enter(renewing, now)
		}
		return m.ask6(now, retry(now, l.rebind), request6{kind: dhcpv6.MessageTypeRenew, server: l.server, address: l.address})
	}
	if l.state != rebinding {
		l.enter(rebinding, now)
		l.trouble = "the DHCPv6 server did not renew the lease; all servers are asked"
	}
	return m.ask6(now, retry(now, ends), request6{kind: dhcpv6.MessageTypeRebind, address: l.address})
}

func (m *Machine6) ask6(now time.Time, again time.Duration, q request6) [][]byte {
	l := &m.lease
	q.xid, q.elapsed = l.xid, now.Sub(l.began)
	l.tries++
	l.asked, l.next = now, now.Add(again)
	return [][]byte{serversFrame(m.id.MAC, m.link.address, q.payload(m.id))}
}

// leased holds the address of a server that nobody on the LAN has.
func (m *Machine6) leased(now time.Time, c *claim) {
	if old := m.lease.address; old != c.address {
		m.dropClaim(old)
	}
	m.extend(now, c, m.lease.offered, m.lease.t1, m.lease.t2)
}

// extend takes the times of an answer to what was asked at a time: that is when they begin.
func (m *Machine6) extend(now time.Time, c *claim, a LeasedAddress, t1, t2 time.Duration) {
	l := &m.lease
	from := l.asked.Round(0)
	if t2 == 0 || t2 >= a.Valid {
		t2 = a.Preferred / 5 * 4
	}
	if t1 == 0 || t1 >= t2 { // T1 and T2 that RFC 8415, 21.4 recommends
		t1 = a.Preferred / 2
	}
	if t1 >= t2 || t1 < time.Second { // nonsense of the server
		t1, t2 = a.Valid/2, a.Valid/5*4
	}
	c.preferred, c.valid = from.Add(a.Preferred), from.Add(a.Valid)
	c.bits = m.bits(c)
	l.enter(bound, now)
	l.address, l.renew, l.rebind, l.next = c.address, from.Add(t1), from.Add(t2), from.Add(t1)
	l.failures, l.trouble = 0, ""
}

// releaseLease tells the server that its address is not needed any more.
func (m *Machine6) releaseLease() [][]byte {
	l := &m.lease
	a := l.address
	if l.state == probing {
		a = l.offered.Address
	}
	if !a.IsValid() || l.server == "" || m.claimOf(a) == nil {
		return nil
	}
	q := request6{kind: dhcpv6.MessageTypeRelease, xid: rand.Uint32() & 0xffffff, server: l.server, address: a}
	return [][]byte{serversFrame(m.id.MAC, m.link.address, q.payload(m.id))}
}

// dropClaim ends the claim of a server's address.
func (m *Machine6) dropClaim(a netip.Addr) {
	for i, c := range m.claims {
		if c.address == a && c.source == heddle.SourceDHCPv6 {
			m.claims = append(m.claims[:i:i], m.claims[i+1:]...)
			return
		}
	}
}
