package dhcp

import (
	"net/netip"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/heddle-network/heddle"
)

var (
	start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	me    = NewIdentity("0123456789abcdef", heddle.EndpointID{Container: "web", IfName: "eth0"}, "0a:00:00:00:00:01")
	srv   = netip.MustParseAddr("192.0.2.2")
)

func anyAddr(netip.Prefix) string { return "" }

// answer is one of the server to the machine's present question.
func answer(m *Machine, kind dhcpv4.MessageType) Message {
	return Message{Type: kind, XID: m.xid, MAC: me.MAC, Address: netip.MustParsePrefix("192.0.2.50/24"), Server: srv,
		ServerMAC: "0a:00:00:00:00:02", Router: srv, Lease: 100 * time.Second}
}

// leased is a machine that has got a lease at start.
func leased(t *testing.T) *Machine {
	t.Helper()
	m := NewMachine(me, anyAddr)
	m.Tick(start)
	m.Receive(start, answer(m, dhcpv4.MessageTypeOffer))
	m.Receive(start, answer(m, dhcpv4.MessageTypeAck))
	for now := start; m.lease.State == probing && now.Before(start.Add(time.Second)); now = now.Add(50 * time.Millisecond) {
		m.Tick(now)
	}
	if l := m.Lease(); !l.Held || l.State != bound || l.Router != srv || !l.Renew.Equal(start.Add(50*time.Second)) || !l.Expires.Equal(start.Add(100*time.Second)) {
		t.Fatalf("no lease: %+v", l)
	}
	return m
}

// TestRenewed: at T1 the server is asked, and its answer begins the lease anew.
func TestRenewed(t *testing.T) {
	m := leased(t)
	at := start.Add(50 * time.Second)
	if sent := m.Tick(at); len(sent) != 1 || m.lease.State != renewing {
		t.Fatalf("at T1: %d frames, %+v", len(sent), m.lease)
	}
	m.Receive(at, answer(m, dhcpv4.MessageTypeAck))
	if !m.lease.Expires.Equal(at.Add(100*time.Second)) || m.lease.State != bound {
		t.Errorf("after the answer: %+v", m.lease)
	}
}

// TestExpired: without an answer all servers are asked from T2 on, and then the address is not held.
func TestExpired(t *testing.T) {
	m := leased(t)
	m.Tick(start.Add(50 * time.Second))
	m.Tick(start.Add(88 * time.Second))
	if m.lease.State != rebinding || !m.lease.Held || m.lease.Trouble == "" {
		t.Errorf("after T2: %+v", m.lease)
	}
	m.Tick(start.Add(100 * time.Second))
	if m.lease.State != selecting || m.lease.Held {
		t.Errorf("after the end: %+v", m.lease)
	}
}

// TestOthersIgnored: another server's word, and another transaction's, do not end a lease.
func TestOthersIgnored(t *testing.T) {
	m := leased(t)
	at := start.Add(50 * time.Second)
	m.Tick(at)
	for _, change := range []func(*Message){
		func(a *Message) { a.Server = netip.MustParseAddr("192.0.2.66") },
		func(a *Message) { a.XID++ },
		func(a *Message) { a.MAC = "0a:00:00:00:00:99" },
	} {
		a := answer(m, dhcpv4.MessageTypeNak)
		change(&a)
		if m.Receive(at, a); !m.lease.Held {
			t.Fatalf("ended by %+v", a)
		}
	}
	if m.Receive(at, answer(m, dhcpv4.MessageTypeNak)); m.lease.Held {
		t.Error("its own server's NAK did not end it")
	}
}

// TestOtherServerWhileRequesting: while one server is asked for what it offered, no other one's word
// counts, though it knows the transaction: it was sent to all.
func TestOtherServerWhileRequesting(t *testing.T) {
	m := NewMachine(me, anyAddr)
	m.Tick(start)
	m.Receive(start, answer(m, dhcpv4.MessageTypeOffer))
	for _, kind := range []dhcpv4.MessageType{dhcpv4.MessageTypeNak, dhcpv4.MessageTypeAck, dhcpv4.MessageTypeOffer} {
		a := answer(m, kind)
		a.Server = netip.MustParseAddr("192.0.2.66")
		if m.Receive(start, a); m.lease.State != requesting || m.offer.Server != srv {
			t.Fatalf("%s of another server: %+v", kind, m.lease)
		}
	}
	if m.Receive(start, answer(m, dhcpv4.MessageTypeAck)); m.lease.State != probing {
		t.Errorf("after its own server's word: %+v", m.lease)
	}
}

// TestOtherAddressConfirmed: a server that confirms another address than it offered is not believed.
func TestOtherAddressConfirmed(t *testing.T) {
	m := NewMachine(me, anyAddr)
	m.Tick(start)
	m.Receive(start, answer(m, dhcpv4.MessageTypeOffer))
	a := answer(m, dhcpv4.MessageTypeAck)
	a.Address = netip.MustParsePrefix("192.0.2.51/24")
	if m.Receive(start, a); m.lease.State != requesting {
		t.Errorf("believed: %+v", m.lease)
	}
}

// TestConflict: an address that somebody has is declined.
func TestConflict(t *testing.T) {
	m := NewMachine(me, anyAddr)
	m.Tick(start)
	m.Receive(start, answer(m, dhcpv4.MessageTypeOffer))
	m.Receive(start, answer(m, dhcpv4.MessageTypeAck))
	sent := m.Heard(start, ARP{SenderMAC: "0a:00:00:00:00:77", SenderIP: netip.MustParseAddr("192.0.2.50")})
	if len(sent) != 1 || m.lease.Held || m.lease.State != selecting {
		t.Errorf("%d frames, %+v", len(sent), m.lease)
	}
}

// TestResumed: after a restart the lease stands while the server is asked, and one that expired does not.
func TestResumed(t *testing.T) {
	was := leased(t).Lease()
	m := Resume(me, anyAddr, was, start.Add(10*time.Second))
	if sent := m.Tick(start.Add(10 * time.Second)); len(sent) != 1 || !m.lease.Held || m.lease.State != rebooting {
		t.Errorf("%d frames, %+v", len(sent), m.lease)
	}
	if m = Resume(me, anyAddr, was, start.Add(200*time.Second)); m.lease.Held {
		t.Errorf("held after its end: %+v", m.lease)
	}
}

// TestNAKStorm: a server that takes back all that it offers is asked less and less often.
func TestNAKStorm(t *testing.T) {
	m, sent := NewMachine(me, anyAddr), 0
	for now := start; now.Before(start.Add(time.Hour)); now = m.Deadline() {
		sent += len(m.Tick(now))
		sent += len(m.Receive(now, answer(m, dhcpv4.MessageTypeOffer)))
		m.Receive(now, answer(m, dhcpv4.MessageTypeNak))
		if !m.Deadline().After(now) {
			t.Fatal("a busy loop")
		}
	}
	if sent > 200 {
		t.Errorf("%d frames in an hour", sent)
	}
}

// FuzzParse: no frame of the LAN panics, and none gives an address that is no IPv4 address.
func FuzzParse(f *testing.F) {
	f.Add(request{kind: dhcpv4.MessageTypeDiscover, xid: 1}.frame(me))
	f.Add(probeFrame(me.MAC, srv))
	reply, _ := dhcpv4.New(dhcpv4.WithMessageType(dhcpv4.MessageTypeOffer), dhcpv4.WithHwAddr(me.MAC.Bytes()), dhcpv4.WithYourIP(srv.AsSlice()))
	reply.OpCode = dhcpv4.OpcodeBootReply
	b := udpFrame(broadcastMAC, me.MAC, srv, srv, reply.ToBytes())
	b[etherSize+ipSize+1], b[etherSize+ipSize+3] = portServer, portClient
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, _ := Parse(b, func(uint32, heddle.MAC) bool { return true }); m != nil && m.Address.IsValid() && !m.Address.Addr().Is4() {
			t.Errorf("%+v", m)
		}
	})
}
