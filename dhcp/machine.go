package dhcp

import (
	"cmp"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/heddle-network/heddle"
)

// The states (RFC 2131, 4.4). Probing is between an answer and the use of its address: the LAN is
// asked whether somebody has it.
const (
	selecting  = "selecting"
	requesting = "requesting"
	probing    = "probing"
	bound      = "bound"
	renewing   = "renewing"
	rebinding  = "rebinding"
	rebooting  = "rebooting"
)

const (
	// firstWait is how long the first question waits for an answer. The wait doubles up to longestWait.
	// RFC 2131 begins with four seconds, which is long for somebody who waits for a container.
	firstWait, longestWait = time.Second, 64 * time.Second
	// maxRequests is how often one server is asked for what it offered, or for a lease after a restart.
	maxRequests = 3
	// leastRenewWait is the least time between two questions for more time (RFC 2131, 4.4.5).
	leastRenewWait = time.Minute
	// declineWait is how long a client waits after it has declined an address (RFC 2131, 3.1.5).
	declineWait = 10 * time.Second
	// leastLease is the shortest lease that is taken.
	leastLease = 10 * time.Second
	// The LAN is probed probes times, probeWait apart, and then that long once more: 400 ms in all.
	// RFC 5227 takes four to seven seconds.
	probes, probeWait = 3, 100 * time.Millisecond
	lastProbeWait     = 200 * time.Millisecond
)

// Machine gets one lease, and keeps it. It does not act: its methods return the frames to send.
type Machine struct {
	id Identity
	// refuse says why an address cannot be used on this host, "" if it can.
	refuse func(netip.Prefix) string
	lease  heddle.DHCPLease
	offer  Message // that is being requested, or probed
	// leasedBefore says that there was a lease before: the container has its interface, which listens to the MAC address.
	leasedBefore bool
	xid          uint32
	exposure     exposure // of xid
	// tries counts the questions of this state, failures the beginnings that came to nothing.
	tries, failures int
	began, asked    time.Time
	next            time.Time
	// defended is when the address was last defended against somebody else who uses it.
	defended time.Time
	// gaveUp is when an address was last given up to somebody else.
	gaveUp time.Time
}

// NewMachine has no lease, and begins at its first Tick.
func NewMachine(id Identity, refuse func(netip.Prefix) string) *Machine {
	return &Machine{id: id, refuse: refuse, lease: heddle.DHCPLease{State: selecting}}
}

// Want has the first question ask for an address.
func (m *Machine) Want(a netip.Addr) {
	if a.Is4() {
		m.lease.Address = netip.PrefixFrom(a, a.BitLen())
	}
}

// Resume goes on with a lease that an earlier agent recorded: it asks the server whether the lease
// stands, and meanwhile it stands until it expires. One that has expired is not held any more.
func Resume(id Identity, refuse func(netip.Prefix) string, was heddle.DHCPLease, now time.Time) *Machine {
	m := NewMachine(id, refuse)
	m.lease, m.leasedBefore = was, true
	if m.lease.Held && now.Before(was.Expires) {
		m.enter(rebooting, now)
		return m
	}
	if m.lease.Held {
		m.lose("the lease expired while no agent ran")
	}
	m.enter(selecting, now)
	return m
}

// Lease is what the machine has now.
func (m *Machine) Lease() heddle.DHCPLease { return m.lease }

// Deadline is when Tick has to be called next.
func (m *Machine) Deadline() time.Time {
	if m.lease.Held && m.lease.Expires.Before(m.next) {
		return m.lease.Expires
	}
	return m.next
}

// enter begins a state, with a transaction of its own.
func (m *Machine) enter(state string, now time.Time) {
	m.lease.State, m.tries, m.began, m.next = state, 0, now, now
	m.draw()
}

// draw begins another transaction.
func (m *Machine) draw() { m.xid, m.exposure = rand.Uint32(), exposure{} }

// restart begins anew after a failure, later each time.
func (m *Machine) restart(now time.Time, why string) {
	m.lease.Trouble = why
	m.enter(selecting, now)
	m.next = now.Add(wait(m.failures))
	m.failures++
}

// lose ends the use of the address.
func (m *Machine) lose(why string) { m.lease.Held, m.lease.Trouble = false, why }

// wait is how long the try with that number waits for an answer: longer each time, and by chance up
// to a quarter longer or shorter, so that many clients do not ask at once (RFC 2131, 4.1).
func wait(try int) time.Duration {
	d := min(firstWait<<min(try, 10), longestWait)
	return d*3/4 + rand.N(d/2)
}

// Tick does what is due.
func (m *Machine) Tick(now time.Time) (send [][]byte) {
	if m.began.IsZero() {
		m.enter(m.lease.State, now)
	}
	if m.lease.Held && !now.Before(m.lease.Expires) {
		m.lose("the lease expired: no server renewed it")
		m.failures = 0
		m.enter(selecting, now)
	}
	if now.Before(m.next) {
		return nil
	}
	switch m.lease.State {
	case selecting:
		if m.id.Beside && !m.exposure.secret() {
			m.draw()
		}
		return m.ask(now, wait(m.tries), request{kind: dhcpv4.MessageTypeDiscover, asked: cmp.Or(m.id.Only, m.lease.Address.Addr())})
	case requesting:
		if m.tries == maxRequests {
			m.restart(now, "server "+m.offer.Server.String()+" offered "+m.offer.Address.String()+" and did not confirm it")
			return nil
		}
		return m.ask(now, wait(m.tries), request{kind: dhcpv4.MessageTypeRequest, asked: m.offer.Address.Addr(), server: m.offer.Server})
	case probing:
		return m.probe(now)
	case rebooting:
		if m.tries < maxRequests {
			return m.ask(now, wait(m.tries), request{kind: dhcpv4.MessageTypeRequest, asked: m.lease.Address.Addr()})
		}
		m.lease.State = bound
	}
	return m.keep(now)
}

// keep renews the lease when that is due.
func (m *Machine) keep(now time.Time) [][]byte {
	l := &m.lease
	q := request{kind: dhcpv4.MessageTypeRequest, ciaddr: l.Address.Addr()}
	switch {
	case now.Before(l.Renew):
		l.State, m.next = bound, l.Renew
		return nil
	case now.Before(l.Rebind):
		if l.State != renewing {
			m.enter(renewing, now)
		}
		q.server, q.toMAC = l.Server, l.ServerMAC
		return m.ask(now, retry(now, l.Rebind), q)
	}
	if l.State != rebinding {
		m.enter(rebinding, now)
		l.Trouble = "server " + l.Server.String() + " did not renew the lease; all servers are asked"
	}
	// The answer to ciaddr does not come if the container answers no ARP. So the lease is asked for as after
	// a restart, too: that answer is a broadcast.
	again, known := retry(now, l.Expires), q
	known.ciaddr, known.asked = netip.Addr{}, q.ciaddr
	return append(m.ask(now, again, q), m.ask(now, again, known)...)
}

// retry is when to ask again: after half of the time that is left, and not more than once a minute.
func retry(now, end time.Time) time.Duration {
	left := end.Sub(now)
	return min(max(left/2, leastRenewWait), left)
}

func (m *Machine) ask(now time.Time, again time.Duration, q request) [][]byte {
	q.xid, q.withOptions = m.xid, true
	q.elapsed = uint16(min(now.Sub(m.began)/time.Second, 0xffff))
	m.tries++
	m.asked, m.next = now, now.Add(again)
	return [][]byte{q.frame(m.id)}
}

func (m *Machine) probe(now time.Time) [][]byte {
	if m.tries == probes {
		m.take(m.offer, m.asked, now)
		return nil
	}
	m.tries++
	m.next = now.Add(probeWait)
	if m.tries == probes {
		m.next = now.Add(lastProbeWait)
	}
	return [][]byte{probeFrame(m.id.MAC, m.offer.Address.Addr())}
}
