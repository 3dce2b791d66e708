package world

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/test/poll"
)

// A server sends its name and the caller's address. Over TCP it then echoes what it receives;
// over UDP it answers every datagram.

// Answer is a server's answer.
type Answer struct {
	Server string
	// Seen is the address from which the server was called.
	Seen netip.Addr
}

// Listen runs a server in the namespace for the length of the test. A socket stays in the namespace
// in which it was made.
func (n Netns) Listen(t testing.TB, proto string, at netip.AddrPort) {
	t.Helper()
	if proto == "sctp" {
		if err := n.listenSCTP(t, at); err != nil {
			t.Fatalf("listen on %s %s in %s: %v", proto, at, n.Name, err)
		}
		return
	}
	err := n.Do(func() error {
		if proto == "udp" {
			c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
			if err == nil {
				t.Cleanup(func() { c.Close() })
				go n.answerUDP(c)
			}
			return err
		}
		l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
		if err == nil {
			t.Cleanup(func() { l.Close() })
			go n.answerTCP(l)
		}
		return err
	})
	if err != nil {
		t.Fatalf("listen on %s %s in %s: %v", proto, at, n.Name, err)
	}
}

// Serve runs servers of both protocols at a port of each address.
func (n Netns) Serve(t testing.TB, port uint16, at ...netip.Addr) {
	t.Helper()
	for _, a := range at {
		n.Listen(t, "tcp", netip.AddrPortFrom(a, port))
		n.Listen(t, "udp", netip.AddrPortFrom(a, port))
	}
}

func (n Netns) answerUDP(c *net.UDPConn) {
	buffer := make([]byte, 2048)
	for {
		_, from, err := c.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			poll.Until(Patience, pause, func() error { // as Dial does
				if _, err := c.WriteToUDPAddrPort(n.greeting(from), from); errors.Is(err, unix.ENOBUFS) {
					return err
				}
				return nil
			})
		}
	}
}

func (n Netns) answerTCP(l *net.TCPListener) {
	for {
		c, err := l.AcceptTCP()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			c.Write(n.greeting(c.RemoteAddr().(*net.TCPAddr).AddrPort()))
			io.Copy(c, c)
		}()
	}
}

func (n Netns) greeting(to netip.AddrPort) []byte {
	return fmt.Appendf(nil, "%s %s\n", n.Name, to.Addr().Unmap().WithZone(""))
}

// Ask calls a server and returns its answer.
func (n Netns) Ask(proto string, to netip.AddrPort) (Answer, error) {
	return n.AskFrom(proto, netip.AddrPort{}, to, Patience)
}

// AskFrom is Ask from a given address and port.
func (p Netns) AskFrom(proto string, from, to netip.AddrPort, limit time.Duration) (a Answer, err error) {
	if proto == "sctp" {
		return p.askSCTP(from, to, limit)
	}
	c, err := p.Dial(proto, from, to, limit)
	if err != nil {
		return a, err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(limit))
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return a, fmt.Errorf("no answer from %s %s to %s: %w", proto, to, p.Name, err)
	}
	server, seen, _ := strings.Cut(strings.TrimSpace(line), " ")
	a.Server = server
	a.Seen, err = netip.ParseAddr(seen)
	return a, err
}

// Dial connects to a server. Over UDP it sends a first datagram, so that the server answers. If
// the kernel cannot send, it tries again, as Ping does.
func (n Netns) Dial(proto string, from, to netip.AddrPort, limit time.Duration) (c net.Conn, err error) {
	_, err = poll.Until(Patience, 50*time.Millisecond, func() error {
		if c, err = n.dial(proto, from, to, limit); errors.Is(err, unix.ENOBUFS) {
			return err
		}
		return poll.Final(err)
	})
	return c, err
}

func (n Netns) dial(proto string, from, to netip.AddrPort, limit time.Duration) (c net.Conn, err error) {
	d := net.Dialer{Timeout: limit, KeepAlive: -1}
	if from.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(from)
		if proto == "udp" {
			d.LocalAddr = net.UDPAddrFromAddrPort(from)
		}
	}
	err = n.Do(func() error {
		c, err = d.Dial(proto, to.String())
		return err
	})
	if err == nil && proto == "udp" {
		if _, err = c.Write([]byte("hello")); err != nil {
			c.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s from %s to %s: %w", proto, n.Name, to, err)
	}
	return c, nil
}

// Gets calls a server that must answer as the one named, over TCP and UDP.
func (n Netns) Gets(t testing.TB, server string, port uint16, at ...netip.Addr) {
	t.Helper()
	if err := n.TryGets(server, port, at...); err != nil {
		t.Error(err)
	}
}

// TryGets is Gets for a server that may not answer.
func (n Netns) TryGets(server string, port uint16, at ...netip.Addr) error {
	return n.tryGets([]string{"tcp", "udp"}, server, port, at)
}

// GetsSCTP is Gets over SCTP.
func (n Netns) GetsSCTP(t testing.TB, server string, port uint16, at ...netip.Addr) {
	t.Helper()
	if err := n.tryGets([]string{"sctp"}, server, port, at); err != nil {
		t.Error(err)
	}
}

func (n Netns) tryGets(protocols []string, server string, port uint16, at []netip.Addr) (all error) {
	for _, a := range at {
		for _, proto := range protocols {
			got, err := n.Ask(proto, netip.AddrPortFrom(a, port))
			if err == nil && got.Server != server {
				err = fmt.Errorf("%s at %s answers %s over %s as %s, want %s", n.Name, a, n.Name, proto, got.Server, server)
			}
			all = errors.Join(all, err)
		}
	}
	return all
}

// GetsNothing calls servers that must not answer, all at once.
func (n Netns) GetsNothing(t testing.TB, port uint16, at ...netip.Addr) {
	t.Helper()
	answers := make(chan string)
	for _, a := range at {
		for _, proto := range []string{"tcp", "udp"} {
			go func() {
				got, err := n.AskFrom(proto, netip.AddrPort{}, netip.AddrPortFrom(a, port), Refusal)
				if err != nil {
					got.Server = ""
				}
				answers <- strings.TrimPrefix(fmt.Sprintf("%s %s %s", got.Server, proto, a), " ")
			}()
		}
	}
	for range 2 * len(at) {
		if s := <-answers; !strings.HasPrefix(s, "tcp ") && !strings.HasPrefix(s, "udp ") {
			t.Errorf("%s is answered at port %d by %s", n.Name, port, s)
		}
	}
}
