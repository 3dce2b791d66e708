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
// ports: while a server restarts, the kernel does not give its port to a client.
func Free(t testing.TB) netip.AddrPort {
	t.Helper()
	for range 1000 {
		l, err := net.Listen("tcp4", fmt.Sprint("127.0.0.1:", 10000+rand.IntN(20000)))
		if err == nil {
			defer l.Close()
			return netip.MustParseAddrPort(l.Addr().String())
		}
	}
	t.Fatal("no port is free")
	return netip.AddrPort{}
}
