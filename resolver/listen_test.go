package resolver

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
)

// TestSpread: neighbours have sockets of their own, and all packets of one come to one.
func TestSpread(t *testing.T) {
	cell.Need(t)
	cell.Sh(t, "for i in $(seq 16 31); do ip addr add fd99::$(printf %%x $i) dev lo nodad; ip addr add 127.9.0.$i dev lo; done%s", "")
	t.Cleanup(func() {
		cell.Sh(t, "ip addr flush dev lo scope global; for i in $(seq 16 31); do ip addr del 127.9.0.$i dev lo || true; done")
	})
	end := time.Now().Add(30 * time.Second)
	for listenAt, format := range map[string]string{"127.9.0.16": "127.9.0.%d", "fd99::10": "fd99::%x"} {
		s, err := listen(netip.MustParseAddr(listenAt))
		cell.Must(t, err)
		defer s.close()
		to := net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(listenAt), port))
		send := func() {
			for i := 16; i < 32; i++ {
				c, err := net.DialUDP("udp", &net.UDPAddr{IP: net.ParseIP(fmt.Sprintf(format, i))}, to)
				cell.Must(t, err)
				_, err = c.Write([]byte{1})
				cell.Must(t, err)
				cell.Must(t, c.Close())
			}
		}
		for range 5 { // from as many ports
			send()
		}
		for k, c := range s.udp {
			from := map[netip.Addr]int{}
			for got := 0; got < 5; {
				c.SetReadDeadline(time.Now().Add(time.Second))
				_, source, err := c.ReadFromUDPAddrPort(make([]byte, 1))
				switch {
				case err == nil:
					got++
					from[source.Addr()]++
				case errors.Is(err, os.ErrDeadlineExceeded) && time.Now().Before(end):
					send() // a flood of another test may have taken them away
				default:
					t.Fatalf("socket %d of %s: %v, after %v", k, listenAt, err, from)
				}
			}
			if len(from) != 1 {
				t.Errorf("socket %d of %s is that of %v", k, listenAt, from)
			}
		}
	}
}
