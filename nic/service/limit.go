package service

import (
	"net"
	"net/netip"
	"sync"

	"golang.org/x/net/netutil"
)

// maxConnections bounds all connections, besides those of machines that watch, and maxPerAddress those of one address. Whoever reaches the
// port can open connections without a grant. They end after some seconds.
const maxConnections, maxPerAddress = 256, 32

// limit keeps the connections of a listener within both bounds. What is over the bound of an address is closed at
// once, what is over the other waits.
func limit(l net.Listener, machines int) net.Listener {
	return netutil.LimitListener(&addressListener{Listener: l, open: map[netip.Addr]int{}}, maxConnections+machines*maxWatches)
}

// addressListener bounds the connections of each address.
type addressListener struct {
	net.Listener
	mu   sync.Mutex
	open map[netip.Addr]int
}

func (l *addressListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := addressOf(c)
		if l.add(from) {
			return &addressConn{Conn: c, release: sync.OnceFunc(func() { l.remove(from) })}, nil
		}
		c.Close()
	}
}

func (l *addressListener) add(a netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[a] >= maxPerAddress {
		return false
	}
	l.open[a]++
	return true
}

func (l *addressListener) remove(a netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[a]--; l.open[a] == 0 {
		delete(l.open, a)
	}
}

// addressConn is counted until it is closed.
type addressConn struct {
	net.Conn
	release func()
}

func (c *addressConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// addressOf is the other end's address; the zero value for what has none.
func addressOf(c net.Conn) netip.Addr {
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return a.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}
