package ping

import (
	"net"
	"net/netip"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"github.com/heddle-network/heddle"
)

// socket is a raw socket of one IP version.
type socket struct {
	conn *net.IPConn
	read func(b []byte) (n, ttl int, from net.Addr, err error)
	done chan struct{}
}

// Over makes a connection of a raw socket for ICMP of a family.
func Over(c *net.IPConn, f heddle.Family) (Conn, error) {
	s := &socket{conn: c, done: make(chan struct{})}
	if f == heddle.IPv4 {
		four := ipv4.NewPacketConn(c)
		s.read = func(b []byte) (n, ttl int, from net.Addr, err error) {
			n, m, from, err := four.ReadFrom(b)
			if m != nil {
				ttl = m.TTL
			}
			return n, ttl, from, err
		}
		return s, four.SetControlMessage(ipv4.FlagTTL, true)
	}
	six := ipv6.NewPacketConn(c)
	s.read = func(b []byte) (n, ttl int, from net.Addr, err error) {
		n, m, from, err := six.ReadFrom(b)
		if m != nil {
			ttl = m.HopLimit
		}
		return n, ttl, from, err
	}
	return s, six.SetControlMessage(ipv6.FlagHopLimit, true)
}

func (s *socket) Send(b []byte, to netip.Addr) error {
	if err := s.conn.SetWriteDeadline(time.Now().Add(MaxPause)); err != nil {
		return err
	}
	_, err := s.conn.WriteToIP(b, &net.IPAddr{IP: to.AsSlice()})
	return err
}

func (s *socket) Receive(b []byte, deadline time.Time) (n, ttl int, from netip.Addr, err error) {
	if err := s.conn.SetReadDeadline(deadline); err != nil {
		return 0, 0, from, err
	}
	select {
	case <-s.done: // Stop came before the deadline was set anew
		s.conn.SetReadDeadline(time.Now())
	default:
	}
	n, ttl, sender, err := s.read(b)
	if a, is := sender.(*net.IPAddr); is {
		from, _ = netip.AddrFromSlice(a.IP)
		from = from.Unmap()
	}
	return n, ttl, from, err
}

func (s *socket) Stop() {
	close(s.done)
	s.conn.SetDeadline(time.Now())
}
