package dhcp

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
)

// squatter is the ARP packet of somebody who has the address of leased.
var squatter = ARP{From: "0a:00:00:00:00:77", SenderMAC: "0a:00:00:00:00:77", SenderIP: netip.MustParseAddr("192.0.2.50"), TargetIP: srv}

// TestDefended: an address in use is defended once, also later anew; it is given up and declined if somebody goes on using it.
func TestDefended(t *testing.T) {
	m := leased(t)
	at := start.Add(20 * time.Second)
	announcement := announcementFrame(me.MAC, squatter.SenderIP)
	if sent := m.Heard(at, squatter); len(sent) != 1 || !bytes.Equal(sent[0], announcement) || !m.lease.Held {
		t.Fatalf("at first: %x, %+v", sent, m.lease)
	}
	if _, a := Parse(announcement, nil); a == nil || a.SenderIP != squatter.SenderIP || a.TargetIP != squatter.SenderIP || a.SenderMAC != me.MAC {
		t.Errorf("the defence says %+v", a)
	}
	at = at.Add(defendInterval + time.Second)
	if sent := m.Heard(at, squatter); len(sent) != 1 || !bytes.Equal(sent[0], announcement) || !m.lease.Held {
		t.Fatalf("long after: %x, %+v", sent, m.lease)
	}
	sent := m.Heard(at.Add(time.Second), squatter)
	if len(sent) != 1 || m.lease.Held || m.lease.State != selecting || !strings.Contains(m.lease.Trouble, "is in use by 0a:00:00:00:00:77, too") {
		t.Fatalf("soon again: %d frames, %+v", len(sent), m.lease)
	}
	declined(t, sent)
	m = Resume(me, anyAddr, leased(t).Lease(), start.Add(10*time.Second))
	m.Heard(start.Add(11*time.Second), squatter)
	if sent = m.Heard(start.Add(12*time.Second), squatter); m.lease.Held {
		t.Error("a lease of an earlier agent is not given up")
	}
	declined(t, sent)
}

// TestTakenAgain: the first address that is given up is replaced at once. Who takes the next one, too, has the client wait, and no more than
// a few of the server's addresses declined a minute.
func TestTakenAgain(t *testing.T) {
	m := leased(t)
	declines, waits := 0, []time.Duration{}
	now := start.Add(time.Second)
	for end := now.Add(time.Minute); now.Before(end); now = now.Add(50 * time.Millisecond) {
		for range 2 {
			if !m.lease.Held {
				break
			}
			if m.Heard(now, squatter); !m.lease.Held {
				declines++
				waits = append(waits, m.next.Sub(now))
			}
		}
		if !m.lease.Held && len(m.Tick(now)) > 0 {
			m.Receive(now, answer(m, dhcpv4.MessageTypeOffer))
			m.Receive(now, answer(m, dhcpv4.MessageTypeAck))
		}
	}
	if declines < 2 || declines > 7 || waits[0] > 2*firstWait || slices.Min(waits[1:]) < declineWait {
		t.Errorf("%d declined, waits %v", declines, waits)
	}
}

// declined fails unless the one frame tells the server that the address of leased is of no use.
func declined(t *testing.T, sent [][]byte) {
	t.Helper()
	if len(sent) != 1 {
		t.Fatalf("%d frames", len(sent))
	}
	q, err := dhcpv4.FromBytes(sent[0][etherSize+ipSize+udpSize:])
	if err != nil || q.MessageType() != dhcpv4.MessageTypeDecline || !q.RequestedIPAddress().Equal(squatter.SenderIP.AsSlice()) || !q.ServerIdentifier().Equal(srv.AsSlice()) {
		t.Errorf("said %v, %v", q, err)
	}
}

// TestNotDefended: who asks for an address, or speaks for another, has none of ours; nor has the client itself, nor somebody who sends from
// the MAC address that clients share.
func TestNotDefended(t *testing.T) {
	m := leased(t)
	for _, change := range []func(*ARP){
		func(a *ARP) { a.SenderIP, a.TargetIP = srv, a.SenderIP },
		func(a *ARP) { a.SenderIP, a.TargetIP = netip.IPv4Unspecified(), a.SenderIP },
		func(a *ARP) { a.SenderMAC = me.MAC },
		func(a *ARP) { a.From = me.MAC },
	} {
		a := squatter
		change(&a)
		for range 3 {
			if sent := m.Heard(start.Add(time.Second), a); len(sent) > 0 || !m.lease.Held {
				t.Errorf("%+v: %d frames, %+v", a, len(sent), m.lease)
			}
		}
	}
}

// TestSharedMAC: answers from the client's own MAC address are none; an offer of what another client here has is not requested, and not declined.
func TestSharedMAC(t *testing.T) {
	id := me
	id.SharesMAC = true
	m := NewMachine(id, func(netip.Prefix) string { return "endpoint db/eth0 has it" })
	m.Tick(start)
	a := answer(m, dhcpv4.MessageTypeOffer)
	if sent := m.Receive(start, a); len(sent) > 0 || m.lease.State != selecting || !strings.Contains(m.lease.Trouble, "client identifier") {
		t.Errorf("%d frames, %+v", len(sent), m.lease)
	}
	m = NewMachine(id, anyAddr)
	m.Tick(start)
	a.XID, a.ServerMAC = m.xid, me.MAC
	if sent := m.Receive(start, a); len(sent) > 0 || m.lease.State != selecting {
		t.Errorf("an offer of a neighbour behind the same MAC address is taken: %+v", m.lease)
	}
	m.Receive(start, answer(m, dhcpv4.MessageTypeOffer))
	m.refuse = func(netip.Prefix) string { return "endpoint db/eth0 has it" } // it was quicker
	if sent := m.Receive(start, answer(m, dhcpv4.MessageTypeAck)); len(sent) > 0 || m.lease.State != selecting {
		t.Errorf("confirmed: %d frames, %+v", len(sent), m.lease)
	}
}
