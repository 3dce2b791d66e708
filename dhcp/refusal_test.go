package dhcp

import (
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
)

// TestInUseHere: an address that is in use on this host is requested and declined, so that the server
// gives another one; not at once again, if it gives the same.
func TestInUseHere(t *testing.T) {
	m := NewMachine(me, func(netip.Prefix) string { return "the host has it" })
	declined := []time.Time{}
	for now := start; now.Before(start.Add(time.Hour)); now = m.Deadline() {
		m.Tick(now)
		if m.Receive(now, answer(m, dhcpv4.MessageTypeOffer)); m.lease.State != requesting {
			t.Fatalf("does not request what it has to decline: %+v", m.lease)
		}
		sent := m.Receive(now, answer(m, dhcpv4.MessageTypeAck))
		if q := sentIn(t, sent); len(q) != 1 || q[0].MessageType() != dhcpv4.MessageTypeDecline || m.lease.Trouble == "" {
			t.Fatalf("sent %v, %+v", q, m.lease)
		}
		if n := len(declined); n > 1 && now.Sub(declined[n-1]) < declineWait {
			t.Fatalf("declines again after %v", now.Sub(declined[n-1]))
		}
		declined = append(declined, now)
	}
	if first := declined[1].Sub(start); first > 2*firstWait || len(declined) > 100 {
		t.Errorf("asks again after %v, %d times in an hour", first, len(declined))
	}
}

// TestNoLease: an offer that is no lease for anybody is not requested.
func TestNoLease(t *testing.T) {
	m := NewMachine(me, anyAddr)
	m.Tick(start)
	a := answer(m, dhcpv4.MessageTypeOffer)
	a.Lease = time.Second
	if sent := m.Receive(start, a); len(sent) > 0 || m.lease.State != selecting || m.lease.Trouble == "" {
		t.Errorf("sent %d, %+v", len(sent), m.lease)
	}
}

// TestOnly: where one address is of use, it is asked for, also after it was declined; offers of others are passed over, without a word to
// their server.
func TestOnly(t *testing.T) {
	id := me
	id.Only = netip.MustParseAddr("192.0.2.77")
	m := NewMachine(id, anyAddr)
	m.Want(srv)
	asks := func(now time.Time) {
		t.Helper()
		if q := sentIn(t, m.Tick(now)); len(q) != 1 || q[0].MessageType() != dhcpv4.MessageTypeDiscover || !q[0].RequestedIPAddress().Equal(id.Only.AsSlice()) {
			t.Errorf("sent %v", q)
		}
	}
	asks(start)
	a := answer(m, dhcpv4.MessageTypeOffer)
	if sent := m.Receive(start, a); len(sent) > 0 || m.lease.State != selecting || !strings.Contains(m.lease.Trouble, "lets no address pass but 192.0.2.77") {
		t.Errorf("sent %d, %+v", len(sent), m.lease)
	}
	a.Address = netip.PrefixFrom(id.Only, a.Address.Bits())
	if sent := m.Receive(start, a); len(sent) != 1 || m.lease.State != requesting {
		t.Errorf("sent %d, %+v", len(sent), m.lease)
	}
	a.Type = dhcpv4.MessageTypeAck
	m.Receive(start, a)
	m.Heard(start, ARP{From: "0a:00:00:00:00:77", SenderMAC: "0a:00:00:00:00:77", SenderIP: id.Only})
	if m.lease.State != selecting || m.lease.Trouble == "" {
		t.Fatalf("not declined: %+v", m.lease)
	}
	asks(m.Deadline())
}

// TestRenewalRefused: a lease says why more time for it is not taken.
func TestRenewalRefused(t *testing.T) {
	m := leased(t)
	at := start.Add(50 * time.Second)
	m.Tick(at)
	a := answer(m, dhcpv4.MessageTypeAck)
	a.Lease = time.Second
	m.Receive(at, a)
	if l := m.Lease(); !l.Held || l.State != renewing || l.Trouble != "more time from server 192.0.2.2 is refused: the lease of 1s is too short" {
		t.Errorf("%+v", l)
	}
}

// TestInfinite: the times of a lease without an end are in order.
func TestInfinite(t *testing.T) {
	m := NewMachine(me, anyAddr)
	a := answer(m, dhcpv4.MessageTypeAck)
	a.Lease = math.MaxUint32 * time.Second
	m.take(a, start, start)
	if l := m.Lease(); !l.Renew.After(start) || !l.Rebind.After(l.Renew) || !l.Expires.After(l.Rebind) {
		t.Errorf("%+v", l)
	}
}

// TestResumedLost: what was lost before is not said to have been lost while no agent ran.
func TestResumedLost(t *testing.T) {
	m := leased(t)
	m.Tick(start.Add(100 * time.Second))
	lost := m.Lease()
	if l := Resume(me, anyAddr, lost, start.Add(time.Hour)).Lease(); l.Held || l.Trouble != lost.Trouble {
		t.Errorf("%+v", l)
	}
	lost.Held = true
	if l := Resume(me, anyAddr, lost, start.Add(time.Hour)).Lease(); l.Held || l.Trouble == lost.Trouble {
		t.Errorf("%+v", l)
	}
}

// TestRebinding: all servers are asked so that one can answer to the address, and so that one can answer
// to all: the container may not answer ARP.
func TestRebinding(t *testing.T) {
	m := leased(t)
	m.Tick(start.Add(50 * time.Second))
	at := start.Add(88 * time.Second)
	q := sentIn(t, m.Tick(at))
	if len(q) != 2 || !q[0].ClientIPAddr.Equal([]byte{192, 0, 2, 50}) || q[0].RequestedIPAddress() != nil ||
		!q[1].ClientIPAddr.IsUnspecified() || !q[1].RequestedIPAddress().Equal([]byte{192, 0, 2, 50}) || !q[1].IsBroadcast() || q[1].ServerIdentifier() != nil {
		t.Fatalf("sent %v", q)
	}
	if m.Receive(at, answer(m, dhcpv4.MessageTypeAck)); m.lease.State != bound || !m.lease.Expires.Equal(at.Add(100*time.Second)) {
		t.Errorf("%+v", m.lease)
	}
}

// sentIn are the messages in frames.
func sentIn(t *testing.T, frames [][]byte) (all []*dhcpv4.DHCPv4) {
	t.Helper()
	for _, b := range frames {
		q, err := dhcpv4.FromBytes(b[etherSize+ipSize+udpSize:])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, q)
	}
	return all
}
