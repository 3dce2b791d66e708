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

// TestFromBeside: where containers are beside, an answer counts that is to all, as was asked for; and one to the client alone when it was
// asked for from its address.
func TestFromBeside(t *testing.T) {
	id := me
	id.Beside = true
	m := NewMachine(id, anyAddr)
	m.Tick(start)
	for _, to := range []string{besides, string(me.MAC)} {
		a := answer(m, dhcpv4.MessageTypeOffer)
		if a.ToOne = heddle.MAC(to); len(m.Receive(start, a)) > 0 || m.lease.State != selecting {
			t.Errorf("an offer to %s is taken", to)
		}
	}
	m.Receive(start, answer(m, dhcpv4.MessageTypeOffer))
	for _, to := range []string{besides, string(me.MAC)} {
		for _, kind := range []dhcpv4.MessageType{dhcpv4.MessageTypeAck, dhcpv4.MessageTypeNak} {
			a := answer(m, kind)
			if a.ToOne = heddle.MAC(to); len(m.Receive(start, a)) > 0 || m.lease.State != requesting {
				t.Errorf("a %s to %s is taken", kind, to)
			}
		}
	}
	m = leased(t)
	m.id = id
	at := m.lease.Renew
	m.Tick(at)
	a := answer(m, dhcpv4.MessageTypeAck)
	if a.ToOne = besides; m.lease.State == renewing {
		m.Receive(at, a)
	}
	if m.lease.State != renewing {
		t.Errorf("renewed by what is to somebody else: %+v", m.lease)
	}
	a.ToOne = me.MAC
	if m.Receive(at, a); m.lease.State != bound {
		t.Errorf("not renewed by what is to the container: %+v", m.lease)
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
