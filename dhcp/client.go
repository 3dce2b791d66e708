package dhcp

import (
	"cmp"
	"context"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
)

// Client keeps the leases of endpoints on one LAN. The containers run no client and answer none of
// the servers; all is sent and heard on the host's interface.
type Client struct {
	open func() (Wire, error)
	// changed is called after a lease has changed, without a lock held.
	changed func(heddle.EndpointID)

	// mu is not held over kernel work.
	mu     sync.Mutex
	leases map[heddle.EndpointID]*keeper
	out    [][]byte // to be sent
	broken error    // of the last frames that were sent
	timer  *time.Timer
	due    time.Time // when the timer fires, zero if it is not set
	closed bool

	// sending is held over kernel work, and taken before mu.
	sending sync.Mutex
	wire    Wire                // nil until it is needed, and after it failed
	heard   map[heddle.MAC]bool // the wire has been told to hear
	reader  sync.WaitGroup
}

// keeper is the machines of one endpoint: that of its lease, and that of its IPv6 addresses, nil if it has none.
type keeper struct {
	*Machine
	six *Machine6
	// news is closed at the next change of the lease, and at its end.
	news chan struct{}
}

// has is what the endpoint has now.
func (k *keeper) has() heddle.DHCPLease {
	l := k.lease
	if l.IPv6 = nil; k.six != nil {
		six := k.six.Lease()
		l.IPv6 = &six
	}
	return l
}

// settled reports whether the endpoint has what it needs, and nothing more is to be awaited.
func (k *keeper) settled() bool { return k.lease.Held && (k.six == nil || k.six.Settled()) }

func (k *keeper) Deadline() time.Time {
	if k.six == nil {
		return k.Machine.Deadline()
	}
	return minTime(k.Machine.Deadline(), k.six.Deadline())
}

func (k *keeper) Tick(now time.Time) [][]byte {
	send := k.Machine.Tick(now)
	if k.six != nil {
		send = append(send, k.six.Tick(now)...)
	}
	return send
}

func (k *keeper) Release() [][]byte {
	send := k.Machine.Release()
	if k.six != nil {
		send = append(send, k.six.Release()...)
	}
	return send
}

// NewClient asks on the LAN that open opens, and calls changed after each change of a lease.
func NewClient(open func() (Wire, error), changed func(heddle.EndpointID)) *Client {
	return &Client{open: open, changed: changed, leases: map[heddle.EndpointID]*keeper{}}
}

// Keep begins to get a lease, or to keep the one that the machine has; and IPv6 addresses, if there is a machine for them.
func (c *Client) Keep(id heddle.EndpointID, m *Machine, six *Machine6) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	if m.refuse = c.refusal(id, m.refuse); six != nil {
		six.refuse = c.refusal(id, six.refuse)
	}
	c.leases[id] = &keeper{Machine: m, six: six, news: make(chan struct{})}
	c.arm()
}

// refusal refuses what another endpoint of the client has or is about to get, too: a server gives an
// address once, and what is sent here does not come back to containers on the interface that could
// say so.
func (c *Client) refusal(id heddle.EndpointID, refuse func(netip.Prefix) string) func(netip.Prefix) string {
	return func(p netip.Prefix) string {
		for other, k := range c.leases {
			if other != id && (k.lease.Held && k.lease.Address.Addr() == p.Addr() || k.lease.State == probing && k.offer.Address.Addr() == p.Addr() ||
				k.six != nil && k.six.claimOf(p.Addr()) != nil) {
				return "endpoint " + other.String() + " has " + p.Addr().String()
			}
		}
		return refuse(p)
	}
}

// Await waits until the endpoint has a lease, and until what the LAN's routers say of IPv6 is known; without the latter
// it is content in the end. If the context ends before, the lease says what was
// got so far, and the error why the LAN could not be asked, if it could not. It is os.ErrClosed if the
// lease is given up, or the client closed.
func (c *Client) Await(ctx context.Context, id heddle.EndpointID) (heddle.DHCPLease, error) {
	for {
		c.mu.Lock()
		k := c.leases[id]
		if k == nil {
			c.mu.Unlock()
			return heddle.DHCPLease{}, os.ErrClosed
		}
		lease, settled, news := k.has(), k.settled(), k.news
		c.mu.Unlock()
		if settled {
			return lease, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			c.mu.Lock()
			defer c.mu.Unlock()
			if lease = k.has(); lease.Held {
				return lease, nil
			}
			return lease, cmp.Or(c.broken, ctx.Err())
		}
	}
}

// Lease is what the endpoint has now.
func (c *Client) Lease(id heddle.EndpointID) (l heddle.DHCPLease, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.leases[id]
	if k == nil {
		return l, false
	}
	return k.has(), true
}

// Idle reports whether the client keeps no lease.
func (c *Client) Idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.leases) == 0
}

// AsksAs reports whether the client keeps or asks for a lease from the MAC address.
func (c *Client) AsksAs(mac heddle.MAC) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.leases {
		if k.id.MAC == mac {
			return true
		}
	}
	return false
}

// End gives an endpoint's lease back.
func (c *Client) End(id heddle.EndpointID) {
	c.mu.Lock()
	if k := c.leases[id]; k != nil {
		c.out = append(c.out, k.Release()...)
		delete(c.leases, id)
		close(k.news)
	}
	c.mu.Unlock()
	c.flush()
}

// Close ends the client. The leases stand, for another one to keep.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
	}
	for _, k := range c.leases {
		close(k.news)
	}
	clear(c.leases)
	c.mu.Unlock()
	c.sending.Lock()
	c.drop()
	c.sending.Unlock()
	c.reader.Wait()
}
