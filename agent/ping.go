package agent

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/ping"
)

// maxPings is how many pings there are at a time: each has a thread for a moment, and a socket.
const maxPings = 16

// Ping sends echoes from an endpoint's container, by its own stack, and tells each line of the answer; the summary is the last. It ends when
// ctx does. Its error is about what could not be done, and not about echoes that nobody answers.
func (a *Agent) Ping(ctx context.Context, q ping.Request, tell func(ping.Line) error) error {
	if err := q.Check(); err != nil {
		return err
	}
	r, known := a.records.get(q.ID)
	if !known {
		return noEndpoint(q.ID)
	}
	n, err := a.networks.ofEndpoint(r.Endpoint)
	if err != nil {
		return err
	}
	if err := canPing(r); err != nil {
		return err
	}
	select {
	case a.pings <- struct{}{}:
		defer func() { <-a.pings }()
	default:
		return heddle.Errorf(heddle.TooMuch, "ping from", q.ID.String(), fmt.Sprintf("%d pings are under way", maxPings), "wait until one has ended")
	}
	pod, alive, err := a.pingFrom(r, n)
	if err != nil {
		return err
	}
	if pod != nil {
		defer pod.Close()
	}
	to, asked, err := a.pingTarget(ctx, r, n, pod, q)
	if err != nil {
		return err
	}
	f, facts := heddle.FamilyOf(to), a.pathFacts(r, n, to)
	if !q.FullSize {
		facts.Bytes = ping.Bytes(q.Size, f)
	}
	way := ping.Way(facts)
	way.Asked = asked
	if q.FullSize {
		if q.Size = ping.Size(way.MTU, f); q.Size < 0 {
			return heddle.Errorf(heddle.BadArgument, "ping in full size", to.String(), "the MTU of the path is unknown", "give a size")
		}
	}
	conn, err := a.kernel.OpenEcho(pod, f, q.FullSize)
	if err != nil {
		return err
	}
	defer conn.Close()
	over, err := ping.Over(conn, f)
	if err != nil {
		return heddle.Wrap(heddle.KernelRefused, "ping from", q.ID.String(), err, "see 'heddle status'")
	}
	if err := tell(ping.Line{Path: &way}); err != nil {
		return err
	}
	var all []ping.Echo
	plan := ping.Plan{To: to, Count: q.Count, Size: q.Size, Interval: q.Interval(), Wait: q.Wait(), Alive: alive}
	err = ping.Run(ctx, over, plan, func(e ping.Echo) error {
		all = append(all, e)
		return tell(ping.Line{Echo: &e})
	})
	if err != nil {
		return err
	}
	s := ping.Summarize(all)
	if s.Received == 0 {
		s.Advice = ping.Advise(way, facts, a.pingDenied(facts, to))
	}
	return tell(ping.Line{Summary: &s})
}

// canPing refuses endpoints without a stack from which the agent could send.
func canPing(r record) error {
	const op = "ping from"
	id := r.Endpoint.ID.String()
	switch {
	case r.Endpoint.TAP:
		return heddle.Errorf(heddle.BadNamespace, op, id, "a virtual machine has the interface, and its stack is not on this host", "ping within the machine, or towards it from another endpoint")
	case r.Endpoint.ProgramDrives():
		return heddle.Errorf(heddle.BadNamespace, op, id, "a program of the container drives the NIC, which no kernel has", "ping with that program")
	case r.offered():
		return heddle.Errorf(heddle.BadNamespace, op, id, "its engine has not moved the link into the container yet", "start the container")
	}
	return nil
}

// pingFrom opens the namespace of an endpoint; nil for the host's own. Alive says why the container is gone by now: the open socket alone would
// keep its namespace.
func (a *Agent) pingFrom(r record, n *network) (pod kernel.Pod, alive func() error, err error) {
	if hasOwnStack(n) {
		return nil, func() error { return nil }, nil
	}
	gone := heddle.Errorf(heddle.BadNamespace, "ping from", r.Endpoint.ID.String(), "its container is gone", "see 'heddle endpoint list' and 'heddle audit'")
	byPath := a.containers.podAtPath(r)
	pod = byPath
	if pod == nil {
		if pod, err = a.containers.openPod(r); err != nil || pod == nil {
			return nil, nil, heddle.Wrap(heddle.BadNamespace, "ping from", r.Endpoint.ID.String(), orGone(err, gone), gone.Remedy)
		}
	}
	return pod, func() error {
		now, known := a.records.get(r.Endpoint.ID)
		if !known || now.Inode != r.Inode || now.Cookie != r.Cookie {
			return gone
		}
		if byPath == nil {
			return nil
		}
		still := a.containers.podAtPath(r)
		if still == nil {
			return gone
		}
		still.Close()
		return nil
	}, nil
}

func orGone(err error, gone *heddle.Error) error {
	if err == nil {
		return gone
	}
	return err
}

// hasOwnStack reports whether the network's endpoints have the host's own stack.
func hasOwnStack(n *network) bool {
	s, ok := n.mode.(heddle.HostNamespace)
	return ok && !s.NeedsNamespace()
}

// pathFacts are what the records say of the way from an endpoint to an address. If another endpoint of the container is on the address's
// network, or has the default route, the packets are its.
func (a *Agent) pathFacts(r record, n *network, to netip.Addr) ping.Facts {
	_, fastErr := a.kernel.FastTotals()
	f := ping.Facts{Host: a.host.now(), Asked: r.Endpoint.ID, From: a.pingEnd(r, n), To: to, FastPath: fastErr == nil && !a.opt.NoFastPath, Peers: a.Peers(),
		VPC: a.isVPC(), Routes: map[netip.Prefix]string{}}
	for _, n := range a.networks.copies() {
		if !onLAN(n) && !hasCommonSubnet(n.mode) {
			f.Networks = append(f.Networks, n.Network)
		}
	}
	for _, route := range a.VPCRoutes() {
		f.Routes[route.Destination] = route.Leads() + ", and is " + route.State
	}
	var ends []ping.End
	for _, other := range a.records.inNamespace(r.Inode) {
		if on, err := a.networks.ofEndpoint(other.Endpoint); err == nil && other.Endpoint.ID != r.Endpoint.ID && other.Cookie == r.Cookie {
			ends = append(ends, a.pingEnd(other, on))
		}
	}
	f.From = ping.Carrier(f.From, ends, to)
	f.End = a.endAt(f.From.Network.ID, to)
	return f
}

// isVPC reports whether this is the agent of a VPC: such agents alone have peerings.
func (a *Agent) isVPC() bool {
	return slices.ContainsFunc(a.modes, func(m heddle.Mode) bool { return m.Name() == heddle.ModePeering })
}

// pingEnd is an endpoint as ping.Way knows it.
func (a *Agent) pingEnd(r record, n *network) ping.End {
	e := ping.End{Endpoint: r.Endpoint, Network: n.Network, Plan: heddle.Append(n.plan.Host, r.Plan.Host), Masqueraded: ping.Unknown, OwnStack: hasOwnStack(n),
		OnLAN: onLAN(n), CommonSubnet: hasCommonSubnet(n.mode)}
	if m, ok := n.mode.(heddle.Masquerader); ok {
		e.Masqueraded = map[bool]string{true: "yes", false: "no"}[m.Masquerades(n.Network)]
	}
	return e
}

func onLAN(n *network) bool {
	_, is := n.mode.(heddle.LANMode)
	return is
}

// endAt is the endpoint of this host that has an address, or holds it for several: one of the network first.
func (a *Agent) endAt(network string, at netip.Addr) (end *ping.End) {
	has := map[heddle.EndpointID]bool{}
	for _, m := range a.policies.members() {
		for _, own := range append(m.Addrs[:len(m.Addrs):len(m.Addrs)], m.Held...) {
			if own == at {
				has[m.ID] = true
			}
		}
	}
	for id := range has {
		r, known := a.records.get(id)
		n, err := a.networks.ofEndpoint(r.Endpoint)
		if !known || err != nil || end != nil && n.ID != network {
			continue
		}
		e := a.pingEnd(r, n)
		end = &e
	}
	return end
}
