package agent

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
)

// Move detaches an endpoint of a shared network, and sends its addresses and MAC to another host.
// The endpoint with the same ID gets them when it is attached there.
//
// Of an endpoint whose NIC was plugged in, Move permits the machine to take the NIC over. The endpoint stays until that has happened;
// with to "" it may not any more.
func (a *Agent) Move(ctx context.Context, id heddle.EndpointID, to string) (heddle.Endpoint, error) {
	if err := ctx.Err(); err != nil {
		return heddle.Endpoint{}, heddle.Wrap(heddle.Waited, "move endpoint", id.String(), err, "call again")
	}
	if !a.ready.Load() {
		return heddle.Endpoint{}, heddle.Errorf(heddle.Stopping, "move endpoint", id.String(), "", "call again when the agent is back")
	}
	switch _, known := a.records.get(id); {
	case a.hasPlugged(id):
		return a.permitMove(ctx, id, to)
	case to == "" && !known && a.opt.NICs != nil: // its NIC may wait for the other machine
		return heddle.Endpoint{ID: id}, a.opt.NICs.Permit(ctx, plugToken(id), "", "")
	case to == "":
		return heddle.Endpoint{}, heddle.Errorf(heddle.BadArgument, "keep endpoint", id.String(), "it has no NIC that could move", "name a host with --to to send its addresses there")
	}
	r, n, err := a.checkMove(id, to)
	if err != nil {
		return heddle.Endpoint{}, err
	}
	defer a.blocks.keepForMove(n.ID, r.Endpoint)()
	if _, err := a.Detach(ctx, id); err != nil {
		return heddle.Endpoint{}, err
	}
	return r.Endpoint, a.blocks.sendAddresses(ctx, n, r.Endpoint, to)
}

// checkMove refuses to move an endpoint that cannot be moved to the host.
func (a *Agent) checkMove(id heddle.EndpointID, to string) (r record, n *network, err error) {
	r, known := a.records.get(id)
	if !known {
		return r, nil, noEndpoint(id)
	}
	if n, err = a.networks.ofEndpoint(r.Endpoint); err != nil {
		return r, nil, err
	}
	if !n.Shared || a.opt.Cluster == nil {
		return r, nil, heddle.Errorf(heddle.NoStore, "move endpoint", id.String()+" of network "+n.Name,
			"the network is on this host alone", "use a network of mode overlay on hosts that share a store")
	}
	v := a.opt.Cluster.View()
	if to == v.Self.Name {
		return r, nil, heddle.Errorf(heddle.BadArgument, "move endpoint", id.String()+" to host "+to,
			"it is on "+to+" already", "name another host: 'heddle host list' shows those there are")
	}
	if !slices.ContainsFunc(v.Peers, func(h heddle.Host) bool { return h.Name == to }) {
		return r, nil, heddle.Errorf(heddle.NoHost, "move endpoint", id.String()+" to host "+to, "",
			"name another host: 'heddle host list' shows those there are")
	}
	return r, n, checkStoreUp(a.opt.Cluster, "move endpoint", id.String())
}

// keepForMove prevents that an endpoint's borrowed addresses are given back when it is detached.
func (bs *blocks) keepForMove(network string, e heddle.Endpoint) (end func()) {
	mark := func(on bool) {
		bs.mu.Lock()
		defer bs.mu.Unlock()
		for _, p := range e.Addrs {
			pin := heddle.Pin{Network: network, Addr: p.Addr()}
			if delete(bs.moving, pin); on {
				bs.moving[pin] = true
			}
		}
	}
	mark(true)
	return func() { mark(false) }
}

// sendAddresses lends the addresses of an endpoint that is detached to the other host.
func (bs *blocks) sendAddresses(ctx context.Context, n *network, e heddle.Endpoint, to string) error {
	ctx, cancel := withStoreTimeout(ctx)
	defer cancel()
	self := bs.cluster.View().Self.Name
	var errs []error
	for _, p := range e.Addrs {
		if bs.inOwnBlock(n.ID, p.Addr()) {
			if err := bs.Lend(n.ID, p.Addr()); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		m := cluster.Move{Network: n.ID, Addr: p.Addr(), Endpoint: e.ID, MAC: e.MAC, Name: e.Name, Aliases: e.Aliases, From: self, To: to}
		if err := bs.cluster.Send(ctx, m); err != nil {
			bs.Reclaim(n.ID, p.Addr())
			bs.cluster.Return(n.ID, p.Addr()) // if it was borrowed
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return &heddle.Error{Code: heddle.UndoFailed, Kind: heddle.Partial, Op: "move endpoint",
			Object: e.ID.String() + " to host " + to,
			Cause:  "it is detached here, but its addresses were not sent: " + heddle.SentenceOf(err),
			Remedy: heddle.FirstRemedy(err, "attach the endpoint on "+to+" with --ip, or here again")}
	}
	return nil
}

func (bs *blocks) inOwnBlock(network string, addr netip.Addr) bool {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	return slices.ContainsFunc(bs.blocksOfLocked(network, bs.cluster.View()), func(b netip.Prefix) bool { return b.Contains(addr) })
}

// withMovedAddresses adds the addresses, MAC and names that an endpoint brings from another host,
// unless the request gives others.
func (bs *blocks) withMovedAddresses(n *network, req heddle.AttachRequest) heddle.AttachRequest {
	if !n.Shared || bs.cluster == nil || len(req.IPs) > 0 {
		return req
	}
	for _, m := range bs.cluster.View().Moves {
		if m.Network != n.ID || m.Endpoint != req.ID {
			continue
		}
		req.IPs = append(req.IPs, m.Addr)
		// another host wrote it, so it may be malformed
		if mac, err := heddle.ParseMAC(string(m.MAC)); err == nil && req.MAC == "" {
			req.MAC = mac
		}
		if req.Name == "" && len(req.Aliases) == 0 {
			req.Name, req.Aliases = m.Name, m.Aliases
		}
	}
	return req
}
