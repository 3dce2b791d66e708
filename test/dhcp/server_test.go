package dhcp_test

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/test/world"
)

// server is a DHCP server on the LAN outside that does what it is told.
type server struct {
	conn net.PacketConn

	mu sync.Mutex
	// id is its identifier, give what it offers: addresses, the next one after each that is declined.
	id   netip.Addr
	give []netip.Addr
	// lease, t1 are the times that it grants.
	lease, t1 time.Duration
	// silent: it says nothing. takesBack: it answers each request with a NAK, and gives the next address.
	silent, takesBack bool
	// change changes an answer before it is sent.
	change func(*dhcpv4.DHCPv4)
	seen   []dhcpv4.MessageType
}

// startServer starts a server that gives 192.0.2.50 and following, for ten seconds.
func startServer(t *testing.T, outside world.Netns) *server {
	t.Helper()
	s := &server{id: world.Outside4, lease: 10 * time.Second, t1: 2 * time.Second}
	for i := range byte(10) {
		s.give = append(s.give, netip.AddrFrom4([4]byte{192, 0, 2, 50 + i}))
	}
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		raw.Control(func(fd uintptr) {
			unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_BROADCAST, 1)
			unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
			err = unix.BindToDevice(int(fd), "eth0")
		})
		return err
	}}
	err := outside.Do(func() (err error) {
		s.conn, err = config.ListenPacket(context.Background(), "udp4", ":67")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.conn.Close() })
	go s.serve()
	return s
}

// set changes what the server does.
func (s *server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// heard is how many messages of a kind the server has had.
func (s *server) heard(kind dhcpv4.MessageType) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.seen {
		if k == kind {
			n++
		}
	}
	return n
}

func (s *server) serve() {
	b := make([]byte, 1500)
	for {
		n, _, err := s.conn.ReadFrom(b)
		if err != nil {
			return
		}
		q, err := dhcpv4.FromBytes(b[:n])
		if err != nil {
			continue
		}
		if a := s.answer(q); a != nil {
			to := &net.UDPAddr{IP: net.IPv4bcast, Port: 68}
			if !q.ClientIPAddr.IsUnspecified() && !q.IsBroadcast() {
				to.IP = q.ClientIPAddr
			}
			s.conn.WriteTo(a.ToBytes(), to)
		}
	}
}

// answer is what the server says to a message; nil for nothing.
func (s *server) answer(q *dhcpv4.DHCPv4) *dhcpv4.DHCPv4 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, q.MessageType())
	if s.silent {
		return nil
	}
	kind, address := dhcpv4.MessageTypeOffer, s.give[0]
	switch q.MessageType() {
	case dhcpv4.MessageTypeDiscover:
	case dhcpv4.MessageTypeRequest:
		if s.takesBack {
			s.takesBack, s.give, kind, address = false, s.give[1:], dhcpv4.MessageTypeNak, netip.IPv4Unspecified()
			break
		}
		kind = dhcpv4.MessageTypeAck
	case dhcpv4.MessageTypeDecline:
		s.give = s.give[1:]
		return nil
	default:
		return nil
	}
	a, err := dhcpv4.NewReplyFromRequest(q, dhcpv4.WithMessageType(kind), dhcpv4.WithServerIP(s.id.AsSlice()), dhcpv4.WithYourIP(address.AsSlice()),
		dhcpv4.WithOption(dhcpv4.OptServerIdentifier(s.id.AsSlice())), dhcpv4.WithNetmask(net.CIDRMask(24, 32)),
		dhcpv4.WithRouter(s.id.AsSlice()), dhcpv4.WithLeaseTime(uint32(s.lease/time.Second)),
		dhcpv4.WithOption(dhcpv4.OptRenewTimeValue(s.t1)), dhcpv4.WithOption(dhcpv4.OptRebindingTimeValue(s.lease*7/8)))
	if err != nil {
		return nil
	}
	if s.change != nil {
		s.change(a)
	}
	return a
}
