package dhcp

import (
	"net/netip"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/heddle-network/heddle"
)

// besides is a container beside, to whose MAC address another can send so that the parent hears it.
const besides = "0a:00:00:00:00:88"

// besideOthers is a client that has asked, and beside which containers are.
func besideOthers() *Machine {
	id := me
	id.Beside = true
	m := NewMachine(id, anyAddr)
	m.Tick(start)
	return m
}

// toOne is an answer to a MAC address alone.
func toOne(m *Machine, kind dhcpv4.MessageType, to heddle.MAC) Message {
	a := answer(m, kind)
	a.ToOne = to
	return a
}

// TestFromBeside: where containers are beside, an answer to the client alone counts until its transaction is known to them, which it is by an
// answer to all; and when it was asked for from the client's address.
func TestFromBeside(t *testing.T) {
	m := besideOthers()
	if m.xid == 0 {
		t.Error("the first transaction is no secret")
	}
	if m.Receive(start, toOne(m, dhcpv4.MessageTypeOffer, besides)); m.lease.State != selecting {
		t.Error("an offer to somebody else is taken")
	}
	m.Receive(start, answer(m, dhcpv4.MessageTypeOffer))
	for _, to := range []heddle.MAC{besides, me.MAC} {
		for _, kind := range []dhcpv4.MessageType{dhcpv4.MessageTypeAck, dhcpv4.MessageTypeNak} {
			if sent := m.Receive(start, toOne(m, kind, to)); len(sent) > 0 || m.lease.State != requesting {
				t.Errorf("a %s to %s is taken", kind, to)
			}
		}
	}
	m = leased(t)
	m.id.Beside = true
	at := m.lease.Renew
	m.Tick(at)
	if m.lease.State == renewing {
		m.Receive(at, toOne(m, dhcpv4.MessageTypeAck, besides))
	}
	if m.lease.State != renewing {
		t.Errorf("renewed by what is to somebody else: %+v", m.lease)
	}
	if m.Receive(at, toOne(m, dhcpv4.MessageTypeAck, me.MAC)); m.lease.State != bound {
		t.Errorf("not renewed by what is to the container: %+v", m.lease)
	}
}

// TestAnswersAlone: a server that sends all to the client alone (Kea) is heard beside containers, too, when it leases and after a restart.
func TestAnswersAlone(t *testing.T) {
	m := besideOthers()
	if !m.listens() {
		t.Error("does not listen to its MAC address")
	}
	m.Receive(start, toOne(m, dhcpv4.MessageTypeOffer, me.MAC))
	m.Receive(start, toOne(m, dhcpv4.MessageTypeAck, me.MAC))
	if m.lease.State != probing {
		t.Fatalf("not leased: %+v", m.lease)
	}
	m = leased(t)
	id := m.id
	id.Beside = true
	m = Resume(id, anyAddr, m.lease, start)
	m.Tick(start)
	if m.Receive(start, toOne(m, dhcpv4.MessageTypeAck, me.MAC)); m.lease.State != bound {
		t.Errorf("not confirmed: %+v", m.lease)
	}
	m.enter(selecting, start)
	if m.listens() {
		t.Error("listens to a MAC address that the container has")
	}
}

// TestGuessed: while somebody tries the numbers of transactions, only what is to all counts; the next question has a new number.
func TestGuessed(t *testing.T) {
	m := besideOthers()
	guess := toOne(m, dhcpv4.MessageTypeOffer, me.MAC)
	for range maxGuesses + 1 {
		guess.XID++
		m.Receive(start, guess)
	}
	was := toOne(m, dhcpv4.MessageTypeOffer, me.MAC)
	if m.Receive(start, was); m.lease.State != selecting {
		t.Error("an offer to the client alone is taken")
	}
	now := m.Deadline()
	m.Tick(now)
	if m.Receive(now, was); m.lease.State != selecting {
		t.Error("an offer of the former transaction is taken")
	}
	if m.Receive(now, toOne(m, dhcpv4.MessageTypeOffer, me.MAC)); m.lease.State != requesting {
		t.Errorf("not heard any more: %+v", m.lease)
	}
}

// TestOfferRead: an offer to the client alone may have been read by who had its MAC address. The request that follows is another transaction, in
// which neither that one nor the offers of other servers, which are to all, make known what the confirmation has to have.
func TestOfferRead(t *testing.T) {
	m := besideOthers()
	read := toOne(m, dhcpv4.MessageTypeAck, me.MAC)
	other := answer(m, dhcpv4.MessageTypeOffer)
	m.Receive(start, toOne(m, dhcpv4.MessageTypeOffer, me.MAC))
	m.Receive(start, read)
	m.Receive(start, other)
	if m.lease.State != requesting {
		t.Fatalf("%+v", m.lease)
	}
	if m.Receive(start, toOne(m, dhcpv4.MessageTypeAck, me.MAC)); m.lease.State != probing {
		t.Errorf("not confirmed: %+v", m.lease)
	}
}

// TestAnswerToOne: a server that answers to the client alone is heard where nobody is beside.
func TestAnswerToOne(t *testing.T) {
	m := NewMachine(me, anyAddr)
	m.Tick(start)
	a := answer(m, dhcpv4.MessageTypeOffer)
	if a.ToOne = me.MAC; len(m.Receive(start, a)) != 1 {
		t.Errorf("the offer is not taken: %+v", m.lease)
	}
}

// TestClaimToOne: an address that is held is not given up by what is said to one MAC address; one that is probed is, by what is said to the client.
func TestClaimToOne(t *testing.T) {
	m := leased(t)
	for _, to := range []string{besides, string(me.MAC)} {
		a := squatter
		a.ToOne = heddle.MAC(to)
		for range 3 {
			if sent := m.Heard(start.Add(time.Second), a); len(sent) > 0 || !m.lease.Held {
				t.Errorf("to %s: %d frames, %+v", to, len(sent), m.lease)
			}
		}
	}
	m = NewMachine(me, anyAddr)
	m.Tick(start)
	m.Receive(start, answer(m, dhcpv4.MessageTypeOffer))
	m.Receive(start, answer(m, dhcpv4.MessageTypeAck))
	a := squatter
	if a.ToOne = besides; len(m.Heard(start, a)) > 0 || m.lease.State != probing {
		t.Errorf("declined by what is to somebody else: %+v", m.lease)
	}
	if a.ToOne = me.MAC; len(m.Heard(start, a)) != 1 || m.lease.State != selecting {
		t.Errorf("not declined: %+v", m.lease)
	}
}

// TestClaimToOne6: so it is in IPv6, where all hear who has an address that is probed.
func TestClaimToOne6(t *testing.T) {
	m := NewMachine6(me6, anyAddr)
	m.Tick(start)
	m.Advertised(start, advert())
	c := m.claims[0]
	n := Neighbour{Sender: c.address, SenderMAC: besides, Target: c.address, ToOne: me6.MAC}
	if m.Heard(start, n); c.conflicts > 0 {
		t.Error("given up by what is said to one")
	}
	if n.ToOne = ""; len(m.Heard(start, n)) > 0 || c.conflicts != 1 {
		t.Errorf("not given up: %+v", c)
	}
}

// TestToOne: it is read of each frame whether it is to all; what is to its own sender is not of the LAN, nor an advertisement that is to one.
func TestToOne(t *testing.T) {
	claim := announcementFrame(besides, netip.MustParseAddr("192.0.2.50"))
	ra := frameOf(t, netip.MustParseAddr("fe80::1"), allNodes)
	if _, a := Parse(claim, nil); a == nil || a.ToOne != "" || a.From != besides {
		t.Errorf("to all: %+v", a)
	}
	if Parse6(ra, nil).Advertisement == nil {
		t.Error("no advertisement")
	}
	to := func(b []byte, mac string) []byte {
		return edit(b, func(b []byte) { copy(b, macBytes(heddle.MAC(mac))) })
	}
	if _, a := Parse(to(claim, string(me.MAC)), nil); a == nil || a.ToOne != me.MAC {
		t.Errorf("to one: %+v", a)
	}
	if _, a := Parse(to(claim, besides), nil); a != nil {
		t.Errorf("to its own sender: %+v", a)
	}
	if p := Parse6(to(ra, string(me.MAC)), nil); p.Advertisement != nil {
		t.Errorf("to one: %+v", p.Advertisement)
	}
	probe := probe6Frame(besides, netip.MustParseAddr("2001:db8::1"))
	if p := Parse6(probe, nil); p.Neighbour == nil || p.Neighbour.ToOne != "" {
		t.Errorf("to a group: %+v", p.Neighbour)
	}
	if p := Parse6(to(probe, besides), nil); p.Neighbour != nil {
		t.Errorf("to its own sender: %+v", p.Neighbour)
	}
	q := request{kind: dhcpv4.MessageTypeDiscover}.frame(me)
	q = edit(q, func(b []byte) {
		copy(b[6:], macBytes(besides))
		u := b[etherSize+ipSize:]
		u[0], u[1], u[2], u[3], u[udpSize] = 0, portServer, 0, portClient, byte(dhcpv4.OpcodeBootReply)
	})
	ours := func(uint32, heddle.MAC) bool { return true }
	if m, _ := Parse(q, ours); m == nil || m.ToOne != "" {
		t.Errorf("to all: %+v", m)
	}
	if m, _ := Parse(to(q, string(me.MAC)), ours); m == nil || m.ToOne != me.MAC {
		t.Errorf("to one: %+v", m)
	}
}
