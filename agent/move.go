package agent

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
)

// Move detaches an endpoint of a shared network here, and sends its addresses and
// MAC to another host, where the endpoint of the same id gets them when it is
// attached.
func (a *Agent) Move(ctx context.Context, id heddle.EndpointID, to string) (heddle.Endpoint, error) {
	r, known := a.roll.get(id)
	if !known {
		return heddle.Endpoint{}, noEndpoint(id)
	}
	n, err := a.networks.of(r.Endpoint)
	if err != nil {
		return heddle.Endpoint{}, err
	}
	if !n.Shared || a.opt.Cluster == nil {
		return heddle.Endpoint{}, heddle.Errorf(heddle.NoStore, "move endpoint "+id.String()+" of network", n.Name, "only networks that several hosts have can move endpoints: mode overlay, with a store")
	}
	v := a.opt.Cluster.View()
	if !slices.ContainsFunc(v.Peers, func(h heddle.Host) bool { return h.Name == to }) {
		return heddle.Endpoint{}, heddle.Errorf(heddle.NoHost, "move endpoint "+id.String()+" to host", to, "'heddle host list' shows those there are")
	}
	if h := a.opt.Cluster.Health(); h.State == "down" {
		return heddle.Endpoint{}, heddle.Errorf(heddle.StoreDown, "move endpoint", id.String(), "wait for the store: "+h.Detail)
	}
	defer a.keepForMove(n.ID, r.Endpoint)()
	if _, err := a.Detach(ctx, id); err != nil {
		return heddle.Endpoint{}, err
	}
	return r.Endpoint, a.send(ctx, n, r.Endpoint, to)
}

// keepForMove keeps borrowed addresses from being given back when their endpoint
// is detached.
func (a *Agent) keepForMove(network string, e heddle.Endpoint) (end func()) {
	mark := func(on bool) {
		a.pools.Lock()
		defer a.pools.Unlock()
		for _, p := range e.Addrs {
			pin := heddle.Pin{Network: network, Addr: p.Addr()}
			if delete(a.moving, pin); on {
				a.moving[pin] = true
			}
		}
	}
	mark(true)
	return func() { mark(false) }
}

// send lends the addresses of an endpoint that is detached.
func (a *Agent) send(ctx context.Context, n *network, e heddle.Endpoint, to string) error {
	ctx, cancel := waiting(ctx)
	defer cancel()
	self := a.opt.Cluster.View().Self.Name
	var errs []error
	for _, p := range e.Addrs {
		if a.inOwnBlock(n.ID, p.Addr()) {
			if err := (lender{a}).Lend(n.ID, p.Addr()); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		m := cluster.Move{Network: n.ID, Addr: p.Addr(), Endpoint: e.ID, MAC: e.MAC, From: self, To: to}
		if err := a.opt.Cluster.Send(ctx, m); err != nil {
			lender{a}.Reclaim(n.ID, p.Addr())
			a.opt.Cluster.Return(n.ID, p.Addr()) // if it was borrowed
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return &heddle.Error{Code: heddle.UndoFailed, Kind: heddle.Partial, Op: "send the addresses of endpoint", Object: e.ID.String(), Cause: err.Error(),
			Remedy: "it is detached here; attach it on " + to + " with --ip, or here again"}
	}
	return nil
}

func (a *Agent) inOwnBlock(network string, addr netip.Addr) bool {
	a.pools.Lock()
	defer a.pools.Unlock()
	return slices.ContainsFunc(a.blocksOf(network, a.opt.Cluster.View()), func(b netip.Prefix) bool { return b.Contains(addr) })
}

// moved fills in what an endpoint that comes from another host brings along,
// unless the request says otherwise.
func (a *Agent) moved(n *network, req heddle.AttachRequest) heddle.AttachRequest {
	if !n.Shared || a.opt.Cluster == nil || len(req.IPs) > 0 {
		return req
	}
	for _, m := range a.opt.Cluster.View().Moves {
		if m.Network != n.ID || m.Endpoint != req.ID {
			continue
		}
		req.IPs = append(req.IPs, m.Addr)
		// another host wrote it
		if mac, err := heddle.ParseMAC(string(m.MAC)); err == nil && req.MAC == "" {
			req.MAC = mac
		}
	}
	return req
}
