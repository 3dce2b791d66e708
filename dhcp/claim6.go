package dhcp

import (
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
)

const (
	// maxConflicts is how many addresses are tried in one prefix (RFC 7217, 6: IDGEN_RETRIES).
	maxConflicts = 3
	// blockedFor is how long a prefix rests then, or when the host refuses its addresses.
	blockedFor = 5 * time.Minute
	// heldAtLeast is from which lifetime on nobody can shorten it more (RFC 4862, 5.5.3 e).
	heldAtLeast = 2 * time.Hour
)

// claim is an address that the endpoint has, or is about to have.
type claim struct {
	source    string
	prefix    netip.Prefix // of a stateless address
	address   netip.Addr
	bits      int
	conflicts uint8
	// probing: the LAN is asked whether somebody has it, for the time of next, tries times so far.
	probing bool
	tries   int
	next    time.Time
	// blocked: the address cannot be used, and is not tried again until then.
	blocked          time.Time
	preferred, valid time.Time
}

// held reports whether the address may be used.
func (c *claim) held() bool { return !c.probing && c.blocked.IsZero() }

// claimOf is the claim of an address; nil if there is none.
func (m *Machine6) claimOf(a netip.Addr) *claim {
	if i := slices.IndexFunc(m.claims, func(c *claim) bool { return c.address == a }); i >= 0 {
		return m.claims[i]
	}
	return nil
}

// begin has the LAN asked about a claim, if the host does not refuse it.
func (m *Machine6) begin(now time.Time, c *claim) {
	c.tries, c.next, c.blocked, c.probing = 0, now, time.Time{}, true
	if why := m.refuse(netip.PrefixFrom(c.address, 64)); why != "" {
		m.block(now, c, why)
	}
}

func (m *Machine6) block(now time.Time, c *claim, why string) {
	c.probing, c.blocked, m.trouble = false, now.Add(blockedFor), why
}

// probe asks the LAN about a claim when that is due: as long as for IPv4, and not the second of RFC 4862.
func (m *Machine6) probe(now time.Time, c *claim) [][]byte {
	if !c.probing || now.Before(c.next) {
		return nil
	}
	if c.tries == probes {
		c.probing = false
		if c.source == heddle.SourceDHCPv6 {
			m.leased(now, c)
		}
		if !slices.ContainsFunc(m.claims, func(c *claim) bool { return !c.blocked.IsZero() }) {
			m.trouble = ""
		}
		return nil
	}
	c.tries++
	c.next = now.Add(probeWait)
	if c.tries == probes {
		c.next = now.Add(lastProbeWait)
	}
	return [][]byte{probe6Frame(m.id.MAC, c.address)}
}

// minds reports whether a neighbour's message concerns the machine.
func (m *Machine6) minds(n Neighbour) bool {
	return n.SenderMAC != m.id.MAC && (n.Target == m.link.address || slices.ContainsFunc(m.claims, func(c *claim) bool { return c.probing && c.address == n.Target }))
}

// Heard takes a neighbour's message: somebody has an address that is probed, or probes it, too (RFC 4862, 5.4.3 and 5.4.4); or asks for the
// agent's own.
func (m *Machine6) Heard(now time.Time, n Neighbour) (send [][]byte) {
	if !m.minds(n) {
		return nil
	}
	takes := (!n.Asks || n.Sender.IsUnspecified()) && n.ToOne == "" // RFC 4861, 7.2.4: who has it answers all
	if n.Target == m.link.address {
		switch {
		case m.link.probing && takes:
			m.conflict(now, m.link, n)
		case !m.link.probing && n.Asks:
			send = [][]byte{hereFrame(m.id.MAC, m.link.address, n)}
		}
	} else if c := m.claimOf(n.Target); takes && c.source == heddle.SourceDHCPv6 {
		send = m.decline6(now, c, n.Target.String()+", which a DHCPv6 server gave, is in use by "+string(n.SenderMAC))
	} else if takes {
		m.conflict(now, c, n)
	}
	m.tell(now)
	return send
}

// conflict goes on with the next address of the prefix.
func (m *Machine6) conflict(now time.Time, c *claim, n Neighbour) {
	c.conflicts++
	m.trouble = n.Target.String() + " is in use by " + string(n.SenderMAC)
	c.address = m.id.address(c.prefix, c.conflicts)
	if c == m.link {
		c.tries, c.next = 0, now.Add(wait(int(c.conflicts))) // without it no server can be asked: it is tried on
		return
	}
	if m.begin(now, c); c.conflicts >= maxConflicts {
		m.block(now, c, m.trouble)
	}
}
