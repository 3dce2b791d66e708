package dhcp

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/heddle-network/heddle"
)

// lan is a Wire with a server in memory, which gives one address to everybody.
type lan struct {
	mu     sync.Mutex
	fails  int // so many frames cannot be sent
	opened int
	frames chan []byte
	closed chan struct{}
	said   []dhcpv4.MessageType
	hears  []heddle.MAC
}

func (l *lan) open() (Wire, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opened++
	l.frames, l.closed = make(chan []byte, 16), make(chan struct{})
	return l, nil
}

func (l *lan) Send(frame []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fails > 0 {
		l.fails--
		return errors.New("no buffer space available")
	}
	if len(frame) < etherSize+ipSize+udpSize || frame[13] != 0 {
		return nil // ARP
	}
	q, err := dhcpv4.FromBytes(frame[etherSize+ipSize+udpSize:])
	if err != nil {
		return err
	}
	l.said = append(l.said, q.MessageType())
	kind := map[dhcpv4.MessageType]dhcpv4.MessageType{dhcpv4.MessageTypeDiscover: dhcpv4.MessageTypeOffer, dhcpv4.MessageTypeRequest: dhcpv4.MessageTypeAck}[q.MessageType()]
	if kind == 0 {
		return nil
	}
	a, err := dhcpv4.NewReplyFromRequest(q, dhcpv4.WithMessageType(kind), dhcpv4.WithYourIP(net.IPv4(192, 0, 2, 50)), dhcpv4.WithNetmask(net.CIDRMask(24, 32)),
		dhcpv4.WithOption(dhcpv4.OptServerIdentifier(srv.AsSlice())), dhcpv4.WithLeaseTime(100))
	if err != nil {
		return err
	}
	b := udpFrame(broadcastMAC, "0a:00:00:00:00:02", srv, netip.AddrFrom4([4]byte{255, 255, 255, 255}), a.ToBytes())
	b[etherSize+ipSize+1], b[etherSize+ipSize+3] = portServer, portClient
	l.frames <- b
	return nil
}

// heardSo are the messages that have been sent so far.
func (l *lan) heardSo() []dhcpv4.MessageType {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.said)
}

func (l *lan) Next() ([]byte, error) {
	l.mu.Lock()
	frames, closed := l.frames, l.closed
	l.mu.Unlock()
	select {
	case b := <-frames:
		return b, nil
	case <-closed:
		return nil, os.ErrClosed
	}
}

func (l *lan) Hear(mac heddle.MAC, on bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hears = slices.DeleteFunc(l.hears, func(m heddle.MAC) bool { return m == mac }); on {
		l.hears = append(l.hears, mac)
	}
	return nil
}

func (l *lan) Close() error { close(l.closed); return nil }

func client(t *testing.T, l *lan) *Client {
	c := NewClient(l.open, func(heddle.EndpointID) {})
	t.Cleanup(c.Close)
	return c
}

// soon waits until something is so.
func soon(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not in time")
		}
	}
}

var web = heddle.EndpointID{Container: "web", IfName: "eth0"}

// TestClient: a client gets a lease over a LAN that fails at first, gives it to one endpoint alone, and
// gives it back.
func TestClient(t *testing.T) {
	l := &lan{fails: 1}
	c := client(t, l)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c.Keep(web, NewMachine(me, anyAddr), nil)
	got, err := c.Await(ctx, web)
	if err != nil || !got.Held || got.Address.String() != "192.0.2.50/24" || l.opened != 2 {
		t.Fatalf("%+v, %v, opened %d times", got, err, l.opened)
	}
	if len(l.hears) > 0 {
		t.Errorf("still hears %v", l.hears)
	}
	db := heddle.EndpointID{Container: "db", IfName: "eth0"}
	c.Keep(db, NewMachine(NewIdentity("0123456789abcdef", db, "0a:00:00:00:00:03"), anyAddr), nil)
	soon(t, func() bool { got, _ = c.Lease(db); return got.Trouble != "" })
	if got.Held || got.Trouble != "an answer of server 192.0.2.2 is refused: endpoint web/eth0 has 192.0.2.50" {
		t.Errorf("%+v", got)
	}
	c.End(db)
	if c.End(web); !c.Idle() || !slices.Contains(l.heardSo(), dhcpv4.MessageTypeRelease) {
		t.Errorf("said %v", l.heardSo())
	}
}

// TestClientEnds: who waits for a lease that is given up, or whose client ends, does not wait on; nor
// does who asks a client that has ended.
func TestClientEnds(t *testing.T) {
	for name, end := range map[string]func(*Client){"given up": func(c *Client) { c.End(web) }, "closed": (*Client).Close} {
		c := NewClient(func() (Wire, error) { return nil, errors.New("no such device") }, func(heddle.EndpointID) {})
		defer c.Close()
		c.Keep(web, NewMachine(me, anyAddr), nil)
		time.AfterFunc(50*time.Millisecond, func() { end(c) })
		if _, err := c.Await(t.Context(), web); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
		if c.Close(); !c.Idle() {
			t.Errorf("%s: still has a lease", name)
		}
		c.Keep(web, NewMachine(me, anyAddr), nil)
		if _, err := c.Await(t.Context(), web); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestClientSaysWhy: who has waited in vain hears why the LAN could not be asked, though that came out
// while it waited.
func TestClientSaysWhy(t *testing.T) {
	waits := make(chan struct{})
	c := NewClient(func() (Wire, error) { <-waits; return nil, errors.New("no such device") }, func(heddle.EndpointID) {})
	defer c.Close()
	c.Keep(web, NewMachine(me, anyAddr), nil)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, func() {
		defer cancel()
		close(waits)
		soon(t, func() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.broken != nil })
	})
	if _, err := c.Await(ctx, web); err == nil || err.Error() != "no such device" {
		t.Errorf("%v", err)
	}
}

// TestClientClosed: a client that is closed leaves its leases alone, and opens no LAN for them.
func TestClientClosed(t *testing.T) {
	l := &lan{}
	c := client(t, l)
	c.Keep(web, NewMachine(me, anyAddr), nil)
	if _, err := c.Await(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if c.End(web); l.opened != 1 || l.said[len(l.said)-1] != dhcpv4.MessageTypeRequest {
		t.Errorf("opened %d times, said %v", l.opened, l.said)
	}
}
