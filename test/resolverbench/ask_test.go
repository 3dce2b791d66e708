package resolverbench

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// ask asks questions one after the other, on so many sockets at the same time.
func ask(b *testing.B, c world.Netns, at string, clients, each int, name func() string) error {
	to := net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(at), 53))
	failed := make([]error, clients)
	var running sync.WaitGroup
	for i := range clients {
		var conn *net.UDPConn
		cell.Must(b, c.Do(func() (err error) {
			conn, err = net.DialUDP("udp", nil, to)
			return err
		}))
		running.Go(func() {
			defer conn.Close()
			failed[i] = askOn(conn, each, name)
		})
	}
	running.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

func askOn(conn *net.UDPConn, each int, name func() string) error {
	reply := make([]byte, 512)
	for range each {
		q, err := new(dns.Msg).SetQuestion(name(), dns.TypeA).Pack()
		if err != nil {
			return err
		}
		conn.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := conn.Write(q); err != nil {
			return err
		}
		n, err := conn.Read(reply)
		if err != nil {
			return err
		}
		if n < 12 || reply[3]&0xf != 0 || reply[7] != 1 || reply[0] != q[0] || reply[1] != q[1] {
			return fmt.Errorf("%x is no answer to %x", reply[:n], q)
		}
	}
	return nil
}
