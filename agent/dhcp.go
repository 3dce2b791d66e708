package agent

import (
	"context"
	"maps"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/dhcp"
)

// dhcpLeases has the endpoints' addresses asked for and kept, on networks whose addresses come from a
// DHCP server: one client for each LAN, which is a parent or the NIC that a container has. What was granted is in
// the endpoints' records.
type dhcpLeases struct {
	kernel     LAN
	host       *hostView
	records    *records
	containers *containers
	// follow is called after an endpoint's lease has changed.
	follow func(heddle.EndpointID)

	mu mutex[atDHCP]
	// clients are by LAN, of by endpoint.
	clients map[string]*dhcp.Client
	of      map[heddle.EndpointID]*dhcp.Client
	// ahead says since when there are leases of endpoints that are about to be attached.
	ahead map[heddle.EndpointID]time.Time
	// taken says when an engine was seen to have taken an endpoint's link: it may not have made its routes yet.
	taken map[heddle.EndpointID]time.Time
	// unsure are the endpoints of which it is not known that their containers have what the records say:
	// an earlier agent may have been killed between the two.
	unsure map[heddle.EndpointID]bool
	// failed says of endpoints why they could not be brought in line with their leases.
	failed map[heddle.EndpointID]string
}

// acquire asks the LAN for a lease until the context ends: of the wanted address, if there is one, or another.
func (d *dhcpLeases) acquire(ctx context.Context, n *network, e heddle.Endpoint, want netip.Addr) (heddle.DHCPLease, error) {
	m := dhcp.NewMachine(d.identity(n, e), d.refusal(n, e))
	m.Want(want)
	return d.begin(n, e, m, d.newSix(n, e)).Await(ctx, e.ID)
}

// take is the lease that an endpoint has got before it is attached, or a new one.
func (d *dhcpLeases) take(ctx context.Context, n *network, e heddle.Endpoint, want []netip.Addr) (heddle.DHCPLease, error) {
	d.mu.Lock()
	c := d.of[e.ID]
	delete(d.ahead, e.ID)
	d.mu.Unlock()
	if c != nil {
		if l, known := c.Lease(e.ID); known && l.Held {
			return l, nil
		}
	}
	return d.acquire(ctx, n, e, heddle.OfFamily(want, heddle.IPv4))
}

// identity is by what servers know an endpoint.
func (d *dhcpLeases) identity(n *network, e heddle.Endpoint) dhcp.Identity {
	id := dhcp.NewIdentity(n.ID, e.ID, e.MAC)
	f, fixed := n.mode.(heddle.FixedMAC)
	id.SharesMAC = fixed && f.MAC(d.host.now(), n.Network) != ""
	id.Beside = !id.SharesMAC && e.NIC == nil
	if e.NIC != nil && e.NIC.Plugged != nil {
		for _, p := range e.NIC.Plugged.Passes {
			if p.Addr().Is4() {
				id.Only = p.Addr()
			}
		}
	}
	return id
}

// resume goes on with the lease of an endpoint that an earlier agent has recorded.
func (d *dhcpLeases) resume(n *network, e heddle.Endpoint) {
	was := heddle.DHCPLease{}
	if e.DHCP != nil {
		was = *e.DHCP
	}
	d.begin(n, e, dhcp.Resume(d.identity(n, e), d.refusal(n, e), was, time.Now()), d.resumeSix(n, e, was))
	d.setUnsure(e.ID, true)
}

// begin has a machine's lease kept by the client of the network's LAN, and IPv6 addresses if there is a machine for them.
func (d *dhcpLeases) begin(n *network, e heddle.Endpoint, m *dhcp.Machine, six *dhcp.Machine6) *dhcp.Client {
	d.mu.Lock()
	defer d.mu.Unlock()
	lan, open := "parent "+n.Parent, d.onParent(n.Parent)
	if e.NIC != nil {
		lan, open = "NIC of "+e.ID.String(), d.onNIC(e.ID)
	}
	c := d.clients[lan]
	if c == nil {
		c = dhcp.NewClient(open, d.follow)
		d.clients[lan] = c
	}
	d.of[e.ID] = c
	c.Keep(e.ID, m, six)
	return c
}

func (d *dhcpLeases) onParent(parent string) func() (dhcp.Wire, error) {
	return func() (dhcp.Wire, error) { return d.kernel.OpenWire(nil, parent) }
}

// onNIC opens the LAN of a NIC where it is: in the endpoint's container. The agent holds its namespace anyway.
func (d *dhcpLeases) onNIC(id heddle.EndpointID) func() (dhcp.Wire, error) {
	return func() (dhcp.Wire, error) {
		r, known := d.records.get(id)
		if !known {
			return nil, os.ErrNotExist
		}
		pod, err := d.containers.findPod(r)
		if err != nil {
			return nil, err
		}
		if pod == nil {
			return nil, os.ErrNotExist // and not the host's interface of that name
		}
		defer pod.Close()
		return d.kernel.OpenWire(pod, r.Endpoint.Interface())
	}
}

// refusal says of addresses why an endpoint of the network cannot have them: the host, its router or another endpoint of the host has it, and
// does not hear who probes it on the parent. A NIC is on a LAN of its own, which may have the same addresses: there all hear that.
func (d *dhcpLeases) refusal(n *network, e heddle.Endpoint) func(netip.Prefix) string {
	return func(p netip.Prefix) string {
		if e.NIC != nil {
			return ""
		}
		if hostHas(d.host.now(), n, []netip.Prefix{p}) {
			return p.Addr().String() + " is an address of the host or its router"
		}
		has := func(r record, _ string) bool {
			return r.Endpoint.ID != e.ID && r.Endpoint.NIC == nil &&
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

// noteTaken notes that an engine has just taken an endpoint's link.
func (d *dhcpLeases) noteTaken(id heddle.EndpointID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of[id] != nil {
		d.taken[id] = time.Now()
	}
}

// leftToEngine reports whether an endpoint's engine may still make what it was told. Its routes need the address that it was told.
func (d *dhcpLeases) leftToEngine(id heddle.EndpointID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Since(d.taken[id]) < engineHeadStart
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
	delete(d.ahead, id)
	delete(d.taken, id)
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
	for lan, one := range d.clients {
		if one == c && c.Idle() {
			delete(d.clients, lan)
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
