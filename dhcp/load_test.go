package dhcp

import (
	"errors"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/heddle-network/heddle"
)

// TestFlood: what comes all the time does not put off what is due, and a timer that is set is set to an
// earlier time alone.
func TestFlood(t *testing.T) {
	c := client(t, &lan{})
	m := NewMachine(me, anyAddr)
	m.next = time.Now().Add(time.Hour)
	c.Keep(web, m, nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	nap := c.due
	m.next = time.Now()
	if c.arm(); !c.due.Before(nap) {
		t.Error("not set to an earlier time")
	}
	for due := c.due; time.Since(due) < 5*time.Millisecond; {
		if c.arm(); !c.due.Equal(due) {
			t.Fatal("put off")
		}
	}
}

// TestOthersUnread: of an answer to others only the transaction and the MAC address are looked at.
func TestOthersUnread(t *testing.T) {
	reply, _ := dhcpv4.New(dhcpv4.WithMessageType(dhcpv4.MessageTypeOffer), dhcpv4.WithHwAddr(me.MAC.Bytes()), dhcpv4.WithTransactionID(dhcpv4.TransactionID{1, 2, 3, 4}))
	reply.OpCode = dhcpv4.OpcodeBootReply
	b := udpFrame(broadcastMAC, me.MAC, srv, srv, reply.ToBytes())
	b[etherSize+ipSize+1], b[etherSize+ipSize+3] = portServer, portClient
	for _, ours := range []bool{true, false} {
		m, _ := Parse(b, func(xid uint32, mac heddle.MAC) bool {
			if xid != 0x01020304 || mac != me.MAC {
				t.Errorf("transaction %x of %s", xid, mac)
			}
			return ours
		})
		if (m != nil) != ours {
			t.Errorf("ours %v: %+v", ours, m)
		}
	}
	c := client(t, &lan{})
	c.Keep(web, &Machine{id: me, xid: 7}, nil)
	if !c.asks(7, me.MAC) || c.asks(8, me.MAC) || c.asks(7, "0a:00:00:00:00:09") {
		t.Error("takes other answers for its own")
	}
}

// stuck is a LAN on which sending takes until it is let go.
type stuck struct {
	lan
	entered, letGo chan struct{}
}

func (s *stuck) Send([]byte) error {
	select {
	case s.entered <- struct{}{}:
	default:
	}
	<-s.letGo
	return errors.New("no buffer space available")
}

// TestSlowLAN: who only asks what there is, or has a lease kept, does not wait for the kernel.
func TestSlowLAN(t *testing.T) {
	l := &stuck{entered: make(chan struct{}, 1), letGo: make(chan struct{})}
	c := NewClient(func() (Wire, error) { l.lan.open(); return l, nil }, func(heddle.EndpointID) {})
	defer c.Close()
	defer close(l.letGo)
	c.Keep(web, NewMachine(me, anyAddr), nil)
	<-l.entered
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Keep(heddle.EndpointID{Container: "db", IfName: "eth0"}, NewMachine(me, anyAddr), nil)
		c.Lease(web)
		c.AsksAs(me.MAC)
		if c.Idle() {
			t.Error("idle")
		}
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Error("waits for the kernel")
	}
}

// TestOpenedAnewOnce: a LAN that fails is opened anew once for all that is to be sent, and what was sent
// before it failed is not sent again.
func TestOpenedAnewOnce(t *testing.T) {
	frame := request{kind: dhcpv4.MessageTypeDecline, xid: 1, asked: srv, server: srv}.frame(me)
	for fails, want := range map[int]int{0: 3, 1: 3, 100: 0} {
		l := &lan{fails: fails}
		c := client(t, l)
		c.out = [][]byte{frame, frame, frame}
		if c.flush(); l.opened > 2 || len(l.heardSo()) != want || (c.broken != nil) != (want == 0) {
			t.Errorf("%d fail: opened %d times, sent %d, %v", fails, l.opened, len(l.heardSo()), c.broken)
		}
	}
}
