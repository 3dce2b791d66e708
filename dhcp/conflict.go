package dhcp

import "time"

// defendInterval is how long after a conflict another one ends the use of the address (RFC 5227, 1.1, DEFEND_INTERVAL).
const defendInterval = 10 * time.Second

// takenAgain is how soon after an address was given up the next one counts as a failure: who takes each address of a container would have
// the server's addresses declined one after the other, and the container changed all the time.
const takenAgain = time.Minute

// minds reports whether an ARP packet says that somebody else has the address that is probed or held. Who probes it at the same time as
// this client has it first, too (RFC 5227, 2.1.1 and 2.4). Of an address that is held only packets to all count, which who
// has it, too, sends sooner or later: of others it is not sure that they come from the LAN (Identity.Beside).
func (m *Machine) minds(a ARP) bool {
	if a.SenderMAC == m.id.MAC || a.From == m.id.MAC {
		return false
	}
	if m.lease.State == probing {
		addr := m.offer.Address.Addr()
		return (a.ToOne == "" || a.ToOne == m.id.MAC) && (a.SenderIP == addr || a.SenderIP.IsUnspecified() && a.TargetIP == addr)
	}
	return m.lease.Held && a.ToOne == "" && a.SenderIP == m.lease.Address.Addr()
}

// Heard takes an ARP packet of the LAN. An address that is probed is declined if somebody has it. One that is held is defended
// once, and given up if that does not help: both would have connections that break for ever (RFC 5227, 2.4, b).
func (m *Machine) Heard(now time.Time, a ARP) [][]byte {
	if !m.minds(a) {
		return nil
	}
	if m.lease.State == probing {
		return m.decline(now, m.offer.Address.Addr().String()+", which server "+m.offer.Server.String()+" gave, is in use by "+string(a.SenderMAC))
	}
	addr := m.lease.Address.Addr()
	if now.Sub(m.defended) > defendInterval {
		m.defended = now
		return [][]byte{announcementFrame(m.id.MAC, addr)}
	}
	m.offer.Address, m.offer.Server = m.lease.Address, m.lease.Server
	if now.Sub(m.gaveUp) < takenAgain {
		m.failures = max(m.failures, 1)
	}
	m.gaveUp = now
	m.lose("")
	return m.decline(now, addr.String()+", which server "+m.offer.Server.String()+" leased, is in use by "+string(a.SenderMAC)+", too, which does not give way")
}
