// Package port finds ports of the loopback interface for servers of tests.
package port

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
)

// Free returns a TCP port of 127.0.0.1 on which nobody listens. It is below the range of client
// ports: while a server restarts, the kernel does not give its port to a client. Until the test
// ends, no other call gets the port, in any process: an abstract unix socket (unix(7)) stands for it,
// since the test's server may begin to listen much later.
func Free(t testing.TB) netip.AddrPort {
	t.Helper()
	for range 1000 {
		number := 10000 + rand.IntN(20000)
		hold, err := net.Listen("unix", fmt.Sprint("@heddle-test-port-", number))
		if err != nil {
			continue
		}
		l, err := net.Listen("tcp4", fmt.Sprint("127.0.0.1:", number))
		if err != nil {
			hold.Close()
			continue
		}
		defer l.Close()
		t.Cleanup(func() { hold.Close() })
		return netip.MustParseAddrPort(l.Addr().String())
	}
	t.Fatal("no port is free")
	return netip.AddrPort{}
}
