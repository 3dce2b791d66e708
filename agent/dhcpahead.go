package agent

import (
	"context"
	"time"

	"github.com/heddle-network/heddle"
)

// LeaseAhead gets an endpoint that is about to be attached its address by DHCP, for an engine that has to be told it before.
// The attach that names the address takes the lease over. Without one it ends with Leave, or when leaseTime is over. It is in
// memory only: an agent that starts asks the server for the same address at the attach.
func (a *Agent) LeaseAhead(ctx context.Context, req heddle.AttachRequest) (e heddle.Endpoint, err error) {
	if err := a.accept(ctx, &req); err != nil {
		return e, err
	}
	n, err := a.networks.find(req.Network)
	if err != nil {
		return e, err
	}
	if err := checkHandover(n, req); err != nil {
		return e, err
	}
	t := a.tasks.begin(work{what: "lease ahead", network: n.Name, endpoint: req.ID.String()}, "a DHCP server on "+n.Parent)
	defer t.end()
	life := n.usage
	life.RLock()
	defer life.RUnlock()
	if life.deleted {
		return e, noNetwork(req.Network)
	}
	defer a.endpointLocks.Lock(req.ID)()
	if r, known := a.records.get(req.ID); known {
		return r.Endpoint, nil
	}
	e = heddle.Endpoint{ID: req.ID, Network: n.ID, NetworkName: n.Name, MAC: req.MAC, MTU: n.mtu(a.host.now())}
	if f, ok := n.mode.(heddle.FixedMAC); ok {
		if fixed := f.MAC(a.host.now(), n.Network); fixed != "" {
			e.MAC = fixed
		}
	}
	if e.MAC == "" {
		e.MAC = req.ID.DefaultMAC(n.ID, 0)
	}
	if e, err = a.leaseByDHCP(ctx, n, e, nil); err != nil {
		a.dhcp.end(req.ID)
		return e, err
	}
	a.dhcp.keepAhead(req.ID)
	return e, nil
}

// keepAhead notes that an endpoint has a lease before it is attached.
func (d *dhcpLeases) keepAhead(id heddle.EndpointID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ahead[id] = time.Now()
}

// forgotten are the endpoints that have had a lease ahead for a long time, and were not attached.
func (d *dhcpLeases) forgotten() (all []heddle.EndpointID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, since := range d.ahead {
		if time.Since(since) > leaseTime {
			all = append(all, id)
		}
	}
	return all
}

// endForgotten gives back what was leased ahead, for nobody.
func (a *Agent) endForgotten() {
	for _, id := range a.dhcp.forgotten() {
		func() {
			defer a.endpointLocks.Lock(id)()
			if _, known := a.records.get(id); !known {
				a.dhcp.end(id)
			}
		}()
	}
}
