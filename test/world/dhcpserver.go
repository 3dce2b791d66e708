package world

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"golang.org/x/sys/unix"
)

// DHCPServer is a DHCP server that does what it is told.
type DHCPServer struct {
	conn net.PacketConn

	mu sync.Mutex
	// ID is its identifier, Offers are the addresses that it gives: the first one, and the next after one
	// is declined.
	ID     netip.Addr
	Offers []netip.Addr
	// Lease and T1 are the times that it grants.
	Lease, T1 time.Duration
	// Silent: it says nothing. TakesBack: it answers the next request with a NAK, and gives the next address.
	Silent, TakesBack bool
	// Change changes an answer to a question, and reports whether it is sent.
	Change func(question, answer *dhcpv4.DHCPv4) bool
	asked  []dhcpv4.MessageType
}

// ServeDHCP starts a server outside.
func (w *World) ServeDHCP(t testing.TB) *DHCPServer {
	t.Helper()
	return w.Outside.ServeDHCP(t, "eth0")
}

// ServeDHCP starts a server on a link of the namespace, which gives 192.0.2.50 and following, for ten
// seconds.
func (n Netns) ServeDHCP(t testing.TB, link string) *DHCPServer {
	t.Helper()
	s := &DHCPServer{ID: Outside4, Lease: 10 * time.Second, T1: 2 * time.Second}
	for i := range byte(10) {
		s.Offers = append(s.Offers, netip.AddrFrom4([4]byte{192, 0, 2, 50 + i}))
	}
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		raw.Control(func(fd uintptr) {
			unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_BROADCAST, 1)
			unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
			err = unix.BindToDevice(int(fd), link)
		})
		return err
	}}
	err := n.Do(func() (err error) {
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

// Set changes what the server does.
func (s *DHCPServer) Set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// Asked are the kinds of all messages that the server has had, Count how many of one kind.
func (s *DHCPServer) Asked() []dhcpv4.MessageType {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *DHCPServer) Count(kind dhcpv4.MessageType) (n int) {
	for _, k := range s.Asked() {
		if k == kind {
			n++
		}
	}
	return n
}

func (s *DHCPServer) serve() {
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
func (s *DHCPServer) answer(q *dhcpv4.DHCPv4) *dhcpv4.DHCPv4 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, q.MessageType())
	if s.Silent {
		return nil
	}
	kind, address := dhcpv4.MessageTypeOffer, s.Offers[0]
	switch q.MessageType() {
	case dhcpv4.MessageTypeDiscover:
	case dhcpv4.MessageTypeRequest:
		if s.TakesBack {
			s.TakesBack, s.Offers = false, append(s.Offers[1:], s.Offers[0])
		}
		if kind = dhcpv4.MessageTypeAck; wanted(q) != s.Offers[0] {
			kind, address = dhcpv4.MessageTypeNak, netip.IPv4Unspecified()
		}
	case dhcpv4.MessageTypeDecline:
		s.Offers = append(s.Offers[1:], s.Offers[0])
		return nil
	default:
		return nil
	}
	a, err := dhcpv4.NewReplyFromRequest(q, dhcpv4.WithMessageType(kind), dhcpv4.WithServerIP(s.ID.AsSlice()), dhcpv4.WithYourIP(address.AsSlice()),
		dhcpv4.WithOption(dhcpv4.OptServerIdentifier(s.ID.AsSlice())), dhcpv4.WithNetmask(net.CIDRMask(24, 32)),
		dhcpv4.WithRouter(s.ID.AsSlice()), dhcpv4.WithLeaseTime(uint32(s.Lease/time.Second)),
		dhcpv4.WithOption(dhcpv4.OptRenewTimeValue(s.T1)), dhcpv4.WithOption(dhcpv4.OptRebindingTimeValue(s.Lease*7/8)))
	if err != nil {
		return nil
	}
	if s.Change != nil && !s.Change(q, a) {
		return nil
	}
	return a
}

// wanted is the address that a request is about.
func wanted(q *dhcpv4.DHCPv4) netip.Addr {
	ip := q.RequestedIPAddress()
	if ip == nil {
		ip = q.ClientIPAddr
	}
	a, _ := netip.AddrFromSlice(ip)
	return a.Unmap()
}
