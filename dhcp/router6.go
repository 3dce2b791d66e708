package dhcp

import (
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
)

// leastMTU6 is the least MTU of a link (RFC 8200, 5).
const leastMTU6 = 1280

// router is a default router, and what it says of the LAN.
type router struct {
	address    netip.Addr
	mac        heddle.MAC
	preference int
	until      time.Time
	mtu        int
	dns        []netip.Addr
	search     []string
}

// linkPrefixes is a prefix whose addresses are on the link, until a time.
type linkPrefixes struct {
	prefix netip.Prefix
	until  time.Time
}

// router is the default router: of those that are preferred most (RFC 4191) the one that was heard first.
func (m *Machine6) router() (best router, ok bool) {
	for _, r := range m.routers {
		if !ok || r.preference > best.preference {
			best, ok = r, true
		}
	}
	return best, ok
}

// Advertised takes a router's advertisement (RFC 4861, 6.3.4).
func (m *Machine6) Advertised(now time.Time, a Advertisement) [][]byte {
	if !m.heard {
		m.heard, m.trouble = true, ""
	}
	if m.hearRouter(now, a); len(m.routers) > 0 {
		m.ask = now.Add(longestQuiet)
	}
	for _, p := range a.Prefixes {
		m.hearOnLink(now, p)
		m.hearPrefix(now, p)
	}
	for _, c := range m.claims {
		c.bits = m.bits(c)
	}
	if a.Managed {
		m.lease.begin(now)
	}
	return m.Tick(now)
}

func (m *Machine6) hearRouter(now time.Time, a Advertisement) {
	i := slices.IndexFunc(m.routers, func(r router) bool { return r.address == a.Router })
	r := router{address: a.Router, mac: a.RouterMAC, preference: a.Preference, until: now.Add(a.Lifetime), dns: a.DNS, search: a.Search}
	if a.MTU >= leastMTU6 && a.MTU <= 0xffff {
		r.mtu = a.MTU
	}
	switch {
	case a.Lifetime == 0 && i >= 0:
		m.routers = slices.Delete(m.routers, i, i+1)
	case a.Lifetime == 0:
	case i >= 0:
		m.routers[i] = r
	case len(m.routers) < maxRouters:
		m.routers = append(m.routers, r)
	}
}

// hearOnLink notes what is on the link. A prefix that is shorter than that of a subnet is not believed: it would keep from the router what
// is not here.
func (m *Machine6) hearOnLink(now time.Time, p AdvertisedPrefix) {
	if !p.OnLink || p.Prefix.Bits() < 64 || p.Prefix.Bits() > 127 || !isGlobal(p.Prefix.Addr()) {
		return
	}
	i := slices.IndexFunc(m.onLink, func(o linkPrefixes) bool { return o.prefix == p.Prefix })
	switch one := (linkPrefixes{p.Prefix, now.Add(p.Valid)}); {
	case p.Valid == 0 && i >= 0:
		m.onLink = slices.Delete(m.onLink, i, i+1)
	case p.Valid == 0:
	case i >= 0:
		m.onLink[i] = one
	case len(m.onLink) < maxClaims:
		m.onLink = append(m.onLink, one)
	}
}

// bits is the length of an address: of the prefix that is on the link.
func (m *Machine6) bits(c *claim) int {
	bits := 128
	for _, p := range m.onLink {
		if p.prefix.Contains(c.address) {
			bits = min(bits, p.prefix.Bits())
		}
	}
	return bits
}

// hearPrefix makes an address in a prefix, or changes its times (RFC 4862, 5.5.3).
func (m *Machine6) hearPrefix(now time.Time, p AdvertisedPrefix) {
	if !p.Autonomous || p.Prefix.Bits() != 64 || p.Preferred > p.Valid || !isGlobal(p.Prefix.Addr()) {
		return
	}
	valid, preferred := now.Add(p.Valid), now.Add(p.Preferred)
	i := slices.IndexFunc(m.claims, func(c *claim) bool { return c.prefix == p.Prefix })
	if i < 0 {
		stateless := 0
		for _, c := range m.claims {
			if c.source == heddle.SourceSLAAC {
				stateless++
			}
		}
		if p.Valid < leastLease || stateless >= maxClaims {
			return
		}
		c := &claim{source: heddle.SourceSLAAC, prefix: p.Prefix, address: m.id.address(p.Prefix, 0), valid: valid, preferred: preferred}
		m.claims = append(m.claims, c)
		m.begin(now, c)
		return
	}
	c := m.claims[i]
	switch { // so that one forged advertisement does not end all addresses of a LAN
	case p.Valid > heldAtLeast || valid.After(c.valid):
		c.valid = valid
	case c.valid.After(now.Add(heldAtLeast)):
		c.valid = now.Add(heldAtLeast)
	}
	c.preferred = preferred
	if !c.blocked.IsZero() && !now.Before(c.blocked) {
		c.conflicts, c.address = 0, m.id.address(c.prefix, 0)
		m.begin(now, c)
	}
}
