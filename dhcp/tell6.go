package dhcp

import (
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
)

// tell makes known what has changed: what ends at once, the rest as the credit allows.
func (m *Machine6) tell(now time.Time) {
	if paid := int(now.Sub(m.earned) / calm); paid > 0 {
		m.credit, m.earned = min(m.credit+paid, burst), now
	}
	is := m.view()
	if m.pending = !sameLAN(m.told, is, now); !m.pending {
		m.told.State, m.told.DHCP, m.told.Trouble = is.State, is.DHCP, is.Trouble
		return
	}
	ends := slices.ContainsFunc(m.told.Addresses, func(a heddle.LANAddress) bool { return !now.Before(a.Valid) })
	if m.credit == 0 && !ends {
		return
	}
	if m.credit > 0 {
		m.credit--
	}
	m.told, m.pending = is, false
}

// sameLAN reports whether the difference need not be told: times may differ by an eighth of what is left.
func sameLAN(was, is heddle.LANIPv6, now time.Time) bool {
	near := func(a, b time.Time) bool {
		left := max(b.Sub(now), 0)
		return a.Equal(b) || a.Sub(b).Abs() <= left/8
	}
	same := func(a, b heddle.LANAddress) bool {
		return a.Address == b.Address && a.Source == b.Source && near(a.Valid, b.Valid) && (near(a.Preferred, b.Preferred) || !a.Preferred.After(now) && !b.Preferred.After(now))
	}
	return slices.EqualFunc(was.Addresses, is.Addresses, same) && was.Router == is.Router && was.RouterMAC == is.RouterMAC &&
		(!is.Router.IsValid() || near(was.RouterUntil, is.RouterUntil)) && was.MTU == is.MTU && slices.Equal(was.DNS, is.DNS) &&
		slices.Equal(was.Search, is.Search) && was.Server == is.Server && was.Renew.Equal(is.Renew) && was.Rebind.Equal(is.Rebind)
}

// Release ends all. The server is told that its address is not needed any more (RFC 8415, 18.2.7).
func (m *Machine6) Release() [][]byte {
	send := m.releaseLease()
	m.claims, m.routers, m.lease = nil, nil, lease6{}
	return send
}

// Hears are the MAC addresses to which frames are wanted: that of all nodes, to which routers advertise and who has an address answers (a
// host without IPv6 of its own does not listen to it); the endpoint's own while an answer is awaited; and the groups of addresses that are
// probed or answered for.
func (m *Machine6) Hears() []heddle.MAC {
	all := []heddle.MAC{groupMAC(allNodes)}
	group := func(a netip.Addr) { all = append(all, groupMAC(solicited(a))) }
	if m.lease.asks() && m.lease.state != bound || m.link.probing {
		all = append(all, m.id.MAC)
		group(m.link.address)
	}
	for _, c := range m.claims {
		if c.probing {
			all = append(all, m.id.MAC)
			group(c.address)
		}
	}
	return all
}
