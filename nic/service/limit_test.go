package service

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// TestConnections: an address has so many connections and no more. Silent ones end by themselves.
func TestConnections(t *testing.T) {
	t.Parallel()
	s := serve(t, newWorld(), "127.0.0.1")
	var all []net.Conn
	for range maxPerAddress {
		c, err := net.Dial("tcp", s.addr)
		must(t, err)
		defer c.Close()
		all = append(all, c)
	}
	time.Sleep(50 * time.Millisecond) // they are accepted in order
	over, err := net.Dial("tcp", s.addr)
	must(t, err)
	defer over.Close()
	over.SetReadDeadline(time.Now().Add(3 * time.Second))
	if _, err := over.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("one more connection of an address is not closed: ", err)
	}
	all[0].SetReadDeadline(time.Now().Add(headerTime + 3*time.Second))
	if _, err := all[0].Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("a silent connection is not closed: ", err)
	}
	time.Sleep(50 * time.Millisecond)
	_, err = s.client(t, "a").List(ctx)
	must(t, err)
}

// scripted is a listener with connections of given addresses.
type scripted struct{ from chan string }

func (s *scripted) Accept() (net.Conn, error) {
	c, _ := net.Pipe()
	return scriptedConn{c, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(<-s.from))}, nil
}
func (s *scripted) Close() error   { return nil }
func (s *scripted) Addr() net.Addr { return nil }

type scriptedConn struct {
	net.Conn
	from net.Addr
}

func (c scriptedConn) RemoteAddr() net.Addr { return c.from }

// TestLimit: all addresses together have so many connections; one more waits until one is closed.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := &scripted{make(chan string, 1000)}
		l := limit(in, 3)
		accept := func(from string) net.Conn {
			in.from <- from
			c, err := l.Accept()
			must(t, err)
			return c
		}
		var all []net.Conn
		for i := range maxConnections / maxPerAddress {
			for range maxPerAddress {
				all = append(all, accept(netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), 1).String()))
			}
		}
		for i := range 3 * maxWatches {
			all = append(all, accept(netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}), 1).String()))
		}
		got := make(chan net.Conn)
		go func() { got <- accept("[2001:db8::1]:1") }()
		synctest.Wait()
		select {
		case <-got:
			t.Error("there is one connection too many")
		default:
		}
		all[0].Close()
		all[0].Close()
		if c := <-got; c.RemoteAddr().String() != "[2001:db8::1]:1" {
			t.Error(c.RemoteAddr())
		}
	})
}

// TestAddressLimit: a connection counts once, however often it is closed, and an address is the same in both of its
// forms. Another address has a bound of its own.
func TestAddressLimit(t *testing.T) {
	in := &scripted{make(chan string, 100)}
	l := &addressListener{Listener: in, open: map[netip.Addr]int{}}
	accept := func(want string, from ...string) net.Conn {
		for _, a := range from {
			in.from <- a
		}
		c, err := l.Accept()
		must(t, err)
		if got := c.RemoteAddr().String(); got != want {
			t.Errorf("%s is accepted, not %s", got, want)
		}
		return c
	}
	first := accept("192.0.2.1:1", "192.0.2.1:1")
	for range maxPerAddress - 1 {
		accept("192.0.2.1:2", "192.0.2.1:2")
	}
	accept("[2001:db8::1]:1", "192.0.2.1:3", "[::ffff:192.0.2.1]:3", "[2001:db8::1]:1")
	first.Close()
	first.Close()
	accept("192.0.2.1:4", "192.0.2.1:4")
	accept("[2001:db8::1]:2", "192.0.2.1:5", "[2001:db8::1]:2")
}
