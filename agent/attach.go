package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/commands"
	"github.com/heddle-network/heddle/events"
	"github.com/heddle-network/heddle/kernel"
)

// Attach makes an endpoint. Called again with the same request, it returns the
// existing endpoint. A container that came back in a new namespace gets a new
// endpoint; it keeps its addresses if it asked for them.
func (a *Agent) Attach(ctx context.Context, req heddle.AttachRequest) (reply heddle.AttachReply, err error) {
	defer a.metrics.observe("attach", time.Now(), &err)
	if err := a.accept(ctx, &req); err != nil {
		return reply, err
	}
	n, err := a.findNew(ctx, req.Network)
	if err != nil {
		return reply, err
	}
	t := a.tasks.begin(work{what: intentAttach, network: n.Name, endpoint: req.ID.String()},
		"its network, or a call about the same container")
	defer t.end()
	a.removals.await(n.ID)
	life := n.usage
	life.RLock()
	defer life.RUnlock()
	// look it up again: the network may have been deleted or moved into the store meanwhile
	n, err = a.networks.find(req.Network)
	switch {
	case err != nil:
		return reply, err
	case life.deleted || n.usage != life:
		return reply, noNetwork(req.Network)
	case n.unplanned != nil:
		return reply, n.unplanned
	}
	if err := checkHandover(n, req); err != nil {
		return reply, err
	}
	if err := checkTAP(n, req); err != nil {
		return reply, err
	}
	if err := a.checkLimits(n, req.ID, req.Limits); err != nil {
		return reply, err
	}
	pod, err := a.openPod(n, req)
	if err != nil {
		return reply, err
	}
	if pod != nil {
		defer pod.Close()
		defer a.podLocks.Lock(pod.Inode())()
	}
	defer a.endpointLocks.Lock(req.ID)()
	old, known := a.records.get(req.ID)
	if known {
		if req.DryRun {
			reply = a.reply(n, old)
			reply.Existed, reply.Commands = true, commands.Of(old.Plan, req.Netns)
			return reply, nil
		}
		if done, reply, err := a.attachExisting(n, old, req, pod); done {
			return reply, err
		}
	}
	reply, err = a.attachNew(ctx, n, req, pod, old.Endpoint.Ports, t)
	if err == nil && !req.DryRun {
		a.names.awaitServed(ctx, reply.Resolvers)
	}
	return reply, err
}

// accept makes the checks that need nothing but the request.
func (a *Agent) accept(ctx context.Context, req *heddle.AttachRequest) error {
	if err := ctx.Err(); err != nil {
		return heddle.Wrap(heddle.Waited, "attach endpoint", req.ID.String(), err, "call again")
	}
	if !a.ready.Load() {
		return heddle.Errorf(heddle.Stopping, "attach endpoint", req.ID.String(), "",
			"call again when the agent is back")
	}
	if err := req.ID.Check(); err != nil {
		return err
	}
	if err := checkMappings(req.ID, req.Ports); err != nil {
		return err
	}
	if err := heddle.CheckLabels("endpoint "+req.ID.String(), req.Labels); err != nil {
		return err
	}
	name, aliases, err := heddle.CheckNames(req.ID.String(), req.Name, req.Aliases)
	if err != nil {
		return err
	}
	if req.Name, req.Aliases = name, aliases; req.MAC == "" {
		return nil
	}
	mac, err := heddle.ParseMAC(string(req.MAC))
	req.MAC = mac
	return err
}

// checkMappings refuses ports that cannot be published on any host.
func checkMappings(id heddle.EndpointID, ports []heddle.PortMapping) error {
	if err := checkPortCount(id, ports); err != nil {
		return err
	}
	own := portTable{}
	for _, p := range ports {
		_, known := heddle.ProtocolNumber(p.Protocol)
		if !known || p.ContainerPort == 0 || p.HostPortEnd != 0 && (p.HostPort == 0 || p.HostPortEnd < p.HostPort) {
			return heddle.Errorf(heddle.BadPort, "publish port", p.String()+" of endpoint "+id.String(),
				"a port is out of range, or the protocol is none of tcp, udp and sctp",
				"name ports from 1 to 65535, over tcp, udp or sctp")
		}
		if err := checkHostIP(id, p); err != nil {
			return err
		}
		if p.IsOpen() {
			continue
		}
		if own.has(p) {
			return heddle.Errorf(heddle.PortTaken, "publish port", p.String()+" of endpoint "+id.String(),
				"the request publishes it twice", "publish each host port once")
		}
		own[portKey(p)] = append(own[portKey(p)], published{p, id})
	}
	return nil
}

// checkPortCount refuses more ports than an endpoint may publish.
func checkPortCount(id heddle.EndpointID, ports []heddle.PortMapping) error {
	if len(ports) > heddle.MaxPorts {
		return heddle.Errorf(heddle.TooMuch, "publish ports of endpoint", id.String(),
			fmt.Sprintf("the request has %d ports", len(ports)), fmt.Sprintf("publish at most %d", heddle.MaxPorts))
	}
	return nil
}

func (a *Agent) openPod(n *network, req heddle.AttachRequest) (kernel.Pod, error) {
	path := req.Netns
	if s, ok := n.mode.(heddle.HostNamespace); ok && !s.NeedsNamespace() || req.Handover || req.TAP {
		return nil, nil
	}
	if path == "" {
		return nil, heddle.Errorf(heddle.BadNamespace, "attach endpoint", req.ID.String()+" to network "+n.Name,
			"the request names no network namespace of a container", "name it with --netns, or a process in it with --pid")
	}
	pod, err := a.kernel.OpenPod(path)
	if err != nil {
		return nil, err
	}
	if a.kernel.IsOwn(pod) {
		pod.Close()
		return nil, heddle.Errorf(heddle.BadNamespace, "open network namespace", path,
			"it is the host's own network namespace",
			"give a container's namespace; for a container in the host's namespace, use a network of mode host")
	}
	return pod, nil
}

// applyMissing makes the parts of an endpoint that are missing in the kernel.
func (a *Agent) applyMissing(r record, pod kernel.Pod) error {
	if r.offered() && r.Endpoint.NIC != nil {
		return a.kernel.MarkNIC(r.Plan.Pod.NICs[0])
	}
	return a.againAfterFlush([]heddle.Network{{ID: r.Endpoint.Network}}, func() error { return a.apply(r, pod) })
}

func (a *Agent) apply(r record, pod kernel.Pod) error {
	defer a.linkLocks.lockShared(r)()
	_, err := a.kernel.Apply(r.Plan, pod)
	return err
}

// attachNew makes an endpoint. earlier are the ports that it had in a namespace that is gone.
func (a *Agent) attachNew(ctx context.Context, n *network, req heddle.AttachRequest, pod kernel.Pod,
	earlier []heddle.PortMapping, t *task) (reply heddle.AttachReply, err error) {
	if n.plugsOn() != "" {
		t.waitFor("a NIC from its provider")
	}
	if n.Shared {
		t.waitFor("an address from the cluster")
	}
	_, givesNICs := n.mode.(heddle.NICGiver)
	if n.FromDHCP() && !givesNICs {
		t.waitFor("a DHCP server on " + n.Parent)
	}
	e, err := a.claim(ctx, n, a.blocks.withMovedAddresses(n, req), pod, earlier)
	t.waitFor("the kernel")
	if err != nil {
		return reply, err
	}
	r := record{Endpoint: e, Request: req}
	if r.plugged() == nil { // the provider has limited a plugged NIC
		e.Limits, err = req.Limits.Fit(e.ID, e.MTU)
		r.Endpoint = e
	}
	if err == nil && pod != nil {
		r.Inode = pod.Inode()
		r.Cookie, err = pod.Cookie()
	}
	if err == nil {
		r.Plan, err = n.planFor(a.host.now(), e)
	}
	if err == nil {
		err = a.answerAsHost(n, &r)
	}
	if err == nil {
		err = checkConflict(e, r.Plan, a.records.inContainer(pod))
	}
	var conf *resolvConf
	if err == nil {
		conf, err = a.resolvConfFor(n, r)
	}
	if err == nil {
		err = a.policies.accepts("attach", n, e)
	}
	if err == nil && !req.DryRun {
		if err = a.lanDevices.noteParent(&r); err == nil {
			err = a.makeEndpoint(ctx, r, pod, conf, t)
		}
	}
	var dark time.Duration
	if err == nil && req.MoveFrom != "" {
		if left := e.NIC.Plugged.Left; !left.IsZero() {
			dark = time.Since(left)
		}
		if err := a.confirmMove(ctx, r); err != nil {
			a.defaults.settle(pod.Inode(), req.ID)
			return reply, err
		}
	}
	now, recorded := a.records.get(req.ID)
	if !recorded {
		a.release(n, e) // after a dry run or a failure; an endpoint whose undo failed keeps what it holds
	} else {
		r = now
	}
	if err != nil {
		if change, _ := wantsDefault(req, e); change && pod != nil && !req.DryRun {
			a.defaults.settle(pod.Inode(), req.ID) // another endpoint may have lost it already
		}
		return heddle.AttachReply{}, err
	}
	reply = a.reply(n, r)
	reply.Dark = dark
	if req.DryRun {
		reply.Commands = append(commands.Of(r.Plan, req.Netns), conf.commands()...)
	} else {
		a.metrics.attached(n.Mode)
	}
	return reply, nil
}

// makeEndpoint records the intent, applies the plan, and records the result. After an error
// nothing is left.
func (a *Agent) makeEndpoint(ctx context.Context, r record, pod kernel.Pod, conf *resolvConf, t *task) error {
	defer a.activity.begin()()
	if err := a.trip.step("ledger intent attach"); err != nil {
		return err
	}
	a.records.add(r, intentAttach)
	r, err := a.guard(r)
	a.havips.refresh()
	if err == nil {
		err = a.ledger.putIntent(r, intentAttach)
	}
	if err != nil {
		a.forgetInMemory(r)
		return err
	}
	a.flows.waitForgotten(r.Endpoint)
	err = a.holds.hold(r, pod)
	if err == nil {
		err = a.applyMissing(r, pod)
	}
	if err == nil && r.Endpoint.NIC != nil {
		r, err = a.leaseOnNIC(ctx, r, pod, t)
	}
	if err == nil {
		err = a.lanDevices.noteDevice(r.Endpoint.ID, pod)
	}
	if err == nil {
		err = conf.write(r.Endpoint.ID)
	}
	// other endpoints' locks come last: their holders may wait for locks of shared links
	if change, on := wantsDefault(r.Request, r.Endpoint); err == nil && change && on {
		err = a.defaults.arrange(pod, r.Endpoint.ID, r.Endpoint.ID)
	}
	if err == nil {
		err = a.trip.step("ledger made")
	}
	if err == nil {
		err = a.ledger.clearIntent(r.Endpoint.ID)
	}
	if err != nil {
		return a.rollBack(r, pod, err)
	}
	a.records.setPending(r.Endpoint.ID, "")
	a.routes.refresh() // it may be a next hop
	a.networks.endpointEvent(events.Attached, r.Endpoint)
	a.flows.forgetFlows(r.Endpoint)
	a.lanDevices.announce(r.Endpoint, pod)
	a.followIfChanged(r)
	return nil
}

// rollBack removes what makeEndpoint has made, and returns why. If the removal fails, the endpoint
// keeps its record, addresses and intent until it is attached or detached again, collected by GC,
// or the agent restarts.
func (a *Agent) rollBack(r record, pod kernel.Pod, why error) error {
	if now, known := a.records.get(r.Endpoint.ID); known {
		r = now // now with the device's interface index
	}
	err := a.removePlan(r, r.Plan, pod)
	if err == nil {
		a.flows.forgetEndpoint(r.Endpoint)
		err = a.ledger.drop(r.Endpoint, time.Now()) // the container may have used the addresses already
	}
	if err != nil {
		a.wanted.addRecord(r)
		a.log.Error("undo of an attach failed", "endpoint", r.Endpoint.ID, "error", err)
		return &heddle.Error{Code: heddle.UndoFailed, Kind: heddle.Partial, Op: "undo the attach of endpoint",
			Object: r.Endpoint.ID.String(),
			Cause:  heddle.SentenceOf(err) + " (the attach failed before: " + heddle.SentenceOf(why) + ")",
			Remedy: heddle.FirstRemedy(why, "detach the endpoint, or run 'heddle gc'")}
	}
	a.forgetInMemory(r)
	return why
}

func (a *Agent) reply(n *network, made record) heddle.AttachReply {
	e := made.withPort()
	r := heddle.AttachReply{Endpoint: e, Resolvers: a.names.resolvers(n, made)}
	if len(r.Resolvers) > 0 {
		r.Search = a.searchDomains(n.Network)
	}
	if !n.Internal && e.DefaultRoute {
		r.Gateways = n.LeasedTo(e).Gateways
		if e.NIC != nil && !n.pool.Gives() {
			r.Gateways = e.NIC.Fact().Gateways
		}
	}
	if e.Handover {
		r.Source, r.Routes = made.handoverName(), n.engineRoutes(a.host.now(), e)
	}
	if e.Port != "" {
		r.PortName, r.PortMAC = e.Port, e.ID.PortMAC()
	}
	return r
}

// withPort returns the endpoint with its port name, which is not recorded.
func (r record) withPort() heddle.Endpoint {
	e := r.Endpoint
	hasPort := func(l heddle.Link) bool { return l.Name == e.ID.PortName() }
	if slices.ContainsFunc(r.Plan.Host.Links, hasPort) {
		e.Port = e.ID.PortName()
	}
	return e
}
