package dhcp

import (
	"net/netip"
	"time"
)

// A LAN's routers are heard so often at once, and then once each advertisementTime: each advertisement concerns all endpoints, and who
// floods the LAN with them must not keep the agent busy.
const (
	advertisementBurst = 32
	advertisementTime  = 100 * time.Millisecond
)

// allowance is how many advertisements may be read.
type allowance struct {
	left int
	last time.Time
}

// take takes one, if there is one.
func (a *allowance) take(now time.Time) bool {
	if more := int(now.Sub(a.last) / advertisementTime); more > 0 {
		a.left, a.last = min(a.left+more, advertisementBurst), now
	}
	if a.left == 0 {
		return false
	}
	a.left--
	return true
}

// read6 takes what comes in IPv6.
func (c *Client) read6(now time.Time, b []byte, advertisements *allowance) {
	switch p := Parse6(b, c.asks6); {
	case p.Message != nil:
		c.step(func(k *keeper) bool { return k.six != nil && k.six.asks6(p.Message.XID, p.Message.Client) },
			func(k *keeper) [][]byte { return k.six.Receive(now, *p.Message) })
	case p.Neighbour != nil:
		c.step(func(k *keeper) bool { return k.six != nil && k.six.minds(*p.Neighbour) },
			func(k *keeper) [][]byte { return k.six.Heard(now, *p.Neighbour) })
	case p.Advertisement != nil && advertisements.take(now):
		c.step(func(k *keeper) bool { return k.six != nil }, func(k *keeper) [][]byte { return k.six.Advertised(now, *p.Advertisement) })
	}
}

// asks6 reports whether somebody here awaits the answer to a DHCPv6 transaction.
func (c *Client) asks6(xid uint32, client netip.Addr) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.leases {
		if k.six != nil && k.six.asks6(xid, client) {
			return true
		}
	}
	return false
}
