package dhcp

import (
	"cmp"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
)

// The states of LANIPv6.
const (
	soliciting = "soliciting"
	advertised = "advertised"
)

const (
	// maxClaims bounds how many prefixes, and maxRouters how many routers, are followed at once: the first that are heard.
	maxClaims, maxRouters = 4, 4
	// longestQuiet is how long the client waits at most between two questions for routers (RFC 7559).
	longestQuiet = time.Hour
	// enoughAsked is how often routers are asked before somebody who waits for them is told that there are none.
	enoughAsked = 3
	// A change is told at once, but no more than burst changes, and then one each calm: who floods the LAN with advertisements does not
	// have the agent write records all the time.
	burst, calm = 8, 8 * time.Second
)

// Machine6 makes and keeps the IPv6 addresses of one endpoint, as the LAN's routers say: stateless (RFC 4862), and from a DHCPv6 server
// (RFC 8415). As Machine it does not act: its methods return the frames to send.
type Machine6 struct {
	id Identity6
	// refuse says why an address cannot be used on this host, "" if it can.
	refuse func(netip.Prefix) string
	// link is the agent's own address on the link, from which it speaks to servers: not the container's, which answers for its own
	// as it likes. claims are the endpoint's.
	link    *claim
	claims  []*claim
	routers []router
	onLink  []linkPrefixes
	lease   lease6
	heard   bool // a router
	asked   int  // so often routers have been asked
	ask     time.Time
	trouble string

	told    heddle.LANIPv6 // what others know
	credit  int            // so many changes may be told at once
	earned  time.Time      // when the credit was last counted
	pending bool           // a change is not told yet
}

// NewMachine6 has nothing, and begins at its first Tick.
func NewMachine6(id Identity6, refuse func(netip.Prefix) string) *Machine6 {
	m := &Machine6{id: id, refuse: refuse, credit: burst, told: heddle.LANIPv6{State: soliciting}}
	m.link = &claim{prefix: linkPrefix, address: id.address(linkPrefix, 0), bits: 64, probing: true}
	return m
}

// Resume6 goes on with what an earlier agent recorded, until it expires. Routers are asked again, and the DHCPv6 server whether its
// address stands.
func Resume6(id Identity6, refuse func(netip.Prefix) string, was heddle.LANIPv6, now time.Time) *Machine6 {
	m := NewMachine6(id, refuse)
	for _, a := range was.Addresses {
		c := &claim{source: a.Source, address: a.Address.Addr(), bits: a.Address.Bits(), preferred: a.Preferred, valid: a.Valid}
		if a.Source == heddle.SourceSLAAC {
			c.prefix = netip.PrefixFrom(a.Address.Addr(), 64).Masked()
		}
		if !c.valid.After(now) || len(m.claims) > maxClaims {
			continue
		}
		m.claims = append(m.claims, c)
		if c.bits < 128 {
			m.onLink = append(m.onLink, linkPrefixes{netip.PrefixFrom(c.address, c.bits).Masked(), c.valid})
		}
		if a.Source == heddle.SourceDHCPv6 {
			m.lease = lease6{address: c.address, server: was.Server, renew: was.Renew, rebind: was.Rebind}
			m.lease.enter(confirming, now)
		}
	}
	if was.RouterUntil.After(now) {
		m.routers = []router{{address: was.Router, mac: was.RouterMAC, until: was.RouterUntil, mtu: was.MTU, dns: was.DNS, search: was.Search}}
	}
	m.told = m.view()
	return m
}

// Lease is what the endpoint has now.
func (m *Machine6) Lease() heddle.LANIPv6 { return m.told }

// Settled reports whether it need not be waited for: what routers and servers say is known, or none has answered in time.
func (m *Machine6) Settled() bool {
	probing := slices.ContainsFunc(m.claims, func(c *claim) bool { return c.probing })
	return !probing && !m.pending && (m.heard || m.asked >= enoughAsked) && m.lease.settled()
}

// Deadline is when Tick has to be called next.
func (m *Machine6) Deadline() time.Time {
	next := m.ask
	first := func(t time.Time) {
		if !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	for _, c := range append(m.claims, m.link) {
		first(c.valid)
		if c.probing {
			next = minTime(next, c.next)
		}
	}
	for _, r := range m.routers {
		first(r.until)
	}
	if m.lease.asks() && m.link.held() {
		next = minTime(next, m.lease.next)
	}
	if m.pending {
		first(m.earned.Add(calm))
	}
	return next
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Tick does what is due.
func (m *Machine6) Tick(now time.Time) (send [][]byte) {
	m.expire(now)
	if !now.Before(m.ask) {
		send = append(send, routersFrame(m.id.MAC))
		m.ask = now.Add(waitUpTo(m.asked, longestQuiet))
		m.asked++
	}
	for _, c := range append(slices.Clone(m.claims), m.link) {
		send = append(send, m.probe(now, c)...)
	}
	if m.link.held() {
		send = append(send, m.tickLease(now)...)
	}
	m.tell(now)
	return send
}

// expire ends what is over.
func (m *Machine6) expire(now time.Time) {
	m.claims = slices.DeleteFunc(m.claims, func(c *claim) bool {
		over := !c.valid.IsZero() && !now.Before(c.valid)
		if over && c.held() {
			m.trouble = c.address.String() + " has expired: nobody renewed it"
		}
		return over
	})
	if m.lease.state == probing && m.claimOf(m.lease.offered.Address) == nil {
		m.restart6(now, m.lease.offered.Address.String()+", which the DHCPv6 server gave, has expired before it was used")
	}
	m.onLink = slices.DeleteFunc(m.onLink, func(p linkPrefixes) bool { return !now.Before(p.until) })
	had := len(m.routers)
	m.routers = slices.DeleteFunc(m.routers, func(r router) bool { return !now.Before(r.until) })
	if had > 0 && len(m.routers) == 0 {
		m.asked, m.ask = 0, now
	}
}

// waitUpTo is wait with another limit.
func waitUpTo(try int, limit time.Duration) time.Duration {
	d := min(firstWait<<min(try, 20), limit)
	return d*3/4 + rand.N(d/2)
}

// view is what the endpoint has, by the machine's knowledge.
func (m *Machine6) view() heddle.LANIPv6 {
	l := heddle.LANIPv6{State: soliciting, Trouble: cmp.Or(m.lease.trouble, m.trouble), DHCP: m.lease.state}
	if m.heard {
		l.State = advertised
	}
	for _, c := range m.claims {
		if c.held() {
			l.Addresses = append(l.Addresses, heddle.LANAddress{Address: netip.PrefixFrom(c.address, c.bits), Source: c.source,
				Preferred: c.preferred.Round(0), Valid: c.valid.Round(0)})
		}
	}
	if r, ok := m.router(); ok {
		l.Router, l.RouterMAC, l.RouterUntil, l.MTU, l.DNS, l.Search = r.address, r.mac, r.until.Round(0), r.mtu, r.dns, r.search
	}
	if m.claimOf(m.lease.address) != nil {
		l.Server, l.Renew, l.Rebind = m.lease.server, m.lease.renew.Round(0), m.lease.rebind.Round(0)
	}
	return l
}
