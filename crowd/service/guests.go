package service

import (
	"net"
	"net/netip"
	"sync"
)

// Guests are those whom servers answer. Others may be on the network, too: their connections are closed. The zero value is
// nobody.
type Guests struct {
	mu    sync.RWMutex
	addrs map[netip.Addr]struct{}
}

// Admit adds those who have these addresses.
func (g *Guests) Admit(addrs ...netip.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.addrs == nil {
		g.addrs = map[netip.Addr]struct{}{}
	}
	for _, a := range addrs {
		g.addrs[a] = struct{}{}
	}
}

// Dismiss admits them no more. Servers have their connections until Sweep.
func (g *Guests) Dismiss(addrs ...netip.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, a := range addrs {
		delete(g.addrs, a)
	}
}

// sent reports whether a connection comes from one of them.
func (g *Guests) sent(c net.Conn) bool {
	from, is := c.RemoteAddr().(*net.TCPAddr)
	if !is {
		return false
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	_, admitted := g.addrs[from.AddrPort().Addr().Unmap()]
	return admitted
}
