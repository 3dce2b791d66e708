package agent

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/dhcp"
)

// dhcpLeases has the endpoints' addresses asked for and kept, on networks whose addresses come from a
// DHCP server: one client for each LAN. What was granted is in the endpoints' records.
type dhcpLeases struct {
	kernel  LAN
	host    *hostView
	records *records
	// follow is called after an endpoint's lease has changed.
	follow func(heddle.EndpointID)

	mu mutex[atDHCP]
	// clients are by parent, of by endpoint.
	clients map[string]*dhcp.Client
	of      map[heddle.EndpointID]*dhcp.Client
	// unsure are the endpoints of which it is not known that their containers have what the records say:
	// an earlier agent may have been killed between the two.
	unsure map[heddle.EndpointID]bool
	// failed says of endpoints why they could not be brought in line with their leases.
	failed map[heddle.EndpointID]string
}

// acquire asks the LAN for a lease until the context ends.
func (d *dhcpLeases) acquire(ctx context.Context, n *network, e heddle.Endpoint) (heddle.DHCPLease, error) {
	c := d.begin(n, e, dhcp.NewMachine(dhcp.NewIdentity(n.ID, e.ID, e.MAC), d.refusal(n, e.ID)), d.newSix(n, e))
	return c.Await(ctx, e.ID)
}

// resume goes on with the lease of an endpoint that an earlier agent has recorded.
func (d *dhcpLeases) resume(n *network, e heddle.Endpoint) {
	was := heddle.DHCPLease{}
	if e.DHCP != nil {
		was = *e.DHCP
	}
	d.begin(n, e, dhcp.Resume(dhcp.NewIdentity(n.ID, e.ID, e.MAC), d.refusal(n, e.ID), was, time.Now()), d.resumeSix(n, e, was))
	d.setUnsure(e.ID, true)
}

// begin has a machine's lease kept by the client of the network's LAN, and IPv6 addresses if there is a machine for them.
func (d *dhcpLeases) begin(n *network, e heddle.Endpoint, m *dhcp.Machine, six *dhcp.Machine6) *dhcp.Client {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, parent := d.clients[n.Parent], n.Parent
	if c == nil {
		c = dhcp.NewClient(func() (dhcp.Wire, error) { return d.kernel.OpenWire(parent) }, d.follow)
		d.clients[parent] = c
	}
	d.of[e.ID] = c
	c.Keep(e.ID, m, six)
	return c
}

// refusal says of addresses why an endpoint of the network cannot have them: the host, its router or
// another endpoint of the host has it.
func (d *dhcpLeases) refusal(n *network, id heddle.EndpointID) func(netip.Prefix) string {
	return func(p netip.Prefix) string {
		if hostHas(d.host.now(), n, []netip.Prefix{p}) {
			return p.Addr().String() + " is an address of the host or its router"
		}
		has := func(r record, _ string) bool {
			return r.Endpoint.ID != id &&
				slices.ContainsFunc(r.Endpoint.Addrs, func(a netip.Prefix) bool { return a.Addr() == p.Addr() })
		}
		if others := d.records.filter(has); len(others) > 0 {
			return "endpoint " + others[0].Endpoint.ID.String() + " has " + p.Addr().String()
		}
		return ""
	}
}

// lease is what an endpoint has now.
func (d *dhcpLeases) lease(id heddle.EndpointID) (l heddle.DHCPLease, known bool) {
	d.mu.Lock()
	c := d.of[id]
	d.mu.Unlock()
	if c == nil {
		return l, false
	}
	return c.Lease(id)
}

// asksAs reports whether a server is asked from the MAC address. A parent listens to it meanwhile, though
// there may be no device that has it: of an endpoint that is not recorded yet there is none.
func (d *dhcpLeases) asksAs(mac heddle.MAC) bool {
	d.mu.Lock()
	all := slices.Collect(maps.Values(d.clients))
	d.mu.Unlock()
	return slices.ContainsFunc(all, func(c *dhcp.Client) bool { return c.AsksAs(mac) })
}

// shown is an endpoint with its lease as it is now: the record does not say what is under way.
func (d *dhcpLeases) shown(e heddle.Endpoint) heddle.Endpoint {
	if l, known := d.lease(e.ID); known && e.DHCP != nil {
		e.DHCP = &l
	}
	return e
}

// isUnsure reports whether a container may not have what its record says.
func (d *dhcpLeases) isUnsure(id heddle.EndpointID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.unsure[id]
}

func (d *dhcpLeases) setUnsure(id heddle.EndpointID, on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if delete(d.unsure, id); on {
		d.unsure[id] = true
	}
}

// note keeps why an endpoint could not be brought in line with its lease; nil if it was. It reports whether
// that is news.
func (d *dhcpLeases) note(id heddle.EndpointID, err error) (news bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.failed[id]
	if delete(d.failed, id); err != nil && d.of[id] != nil {
		d.failed[id] = heddle.SentenceOf(err)
	}
	return d.failed[id] != "" && d.failed[id] != was
}

func (d *dhcpLeases) whyNot(id heddle.EndpointID) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed[id]
}

// end gives an endpoint's lease back to its server, if it has one.
func (d *dhcpLeases) end(id heddle.EndpointID) {
	d.mu.Lock()
	c := d.of[id]
	delete(d.of, id)
	delete(d.unsure, id)
	delete(d.failed, id)
	d.mu.Unlock()
	if c == nil {
		return
	}
	c.End(id)
	if d.dropIdle(c) {
		c.Close()
	}
}

// dropIdle forgets a client that keeps no lease.
func (d *dhcpLeases) dropIdle(c *dhcp.Client) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for parent, one := range d.clients {
		if one == c && c.Idle() {
			delete(d.clients, parent)
			return true
		}
	}
	return false
}

// close ends all clients. The leases stand.
func (d *dhcpLeases) close() {
	d.mu.Lock()
	all := d.clients
	d.clients = map[string]*dhcp.Client{}
	d.mu.Unlock()
	for _, c := range all {
		c.Close()
	}
}
