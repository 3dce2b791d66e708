package agent

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/nic"
)

// claimPlugged is claimNIC for a network whose NICs are plugged in. e is the endpoint as far as the request describes it.
func (a *Agent) claimPlugged(ctx context.Context, giver heddle.NICGiver, n *network, req heddle.AttachRequest, e heddle.Endpoint,
	pod kernel.Pod) (heddle.Endpoint, error) {
	on := n.plugsOn()
	object := req.ID.String() + " to network " + n.Name
	switch {
	case a.opt.NICs == nil:
		return e, noProvider("attach endpoint", object)
	case req.MoveFrom != "" && (req.MAC != "" || len(req.IPs) > 0):
		return e, heddle.Errorf(heddle.BadOption, "attach endpoint", object, "the NIC moves here with its MAC address and its addresses", "leave --mac and --ip out")
	case req.NIC != "":
		return e, heddle.Errorf(heddle.BadOption, "attach endpoint", object, "the network's NICs are plugged in, and none is there before", "leave --nic out")
	case giver.DriverOf(n.Network) != "" && (req.MoveFrom != "" || req.Handover):
		return e, heddle.Errorf(heddle.BadOption, "attach endpoint", object, "its NICs are for programs that drive them themselves: none moves, between machines or into a container",
			"leave --move-from and the handover out, or use a network without --opt driver")
	case req.DryRun:
		return e, heddle.Errorf(heddle.BadOption, "plan endpoint", object, "what the NIC will be is known when it has been plugged in, and a dry run plugs none",
			"leave --dry-run out")
	case n.FromDHCP() && req.MoveFrom != "":
		return e, heddle.Errorf(heddle.BadOption, "attach endpoint", object, "a NIC moves here with its addresses, and those on the network are leased to containers that are attached here",
			"leave --move-from out, or use a network without --opt addresses")
	}
	if n.FromDHCP() {
		if err := checkByDHCP(n, req); err != nil {
			return e, err
		}
	}
	if _, err := req.Limits.Fit(req.ID, leastMTU); err != nil { // before a NIC is plugged in for it
		return e, err
	}
	plugged, card, err := a.plugs.forEndpoint(ctx, n.ID, on, req)
	if err != nil {
		return e, err
	}
	e.NIC, e.MAC, e.MTU, e.Addrs = &plugged, plugged.MAC, plugged.Was.MTU, card.Addrs
	card, err = a.plugs.limitGiven(ctx, card, req)
	e.Limits, e.LimitsAsked = card.Limits, card.Asked
	if err != nil {
		a.plugs.drop(e)
		a.plugs.takeOutDropped(ctx, card.Token)
		return e, err
	}
	if n.FromDHCP() { // the lease will say
		e.Addrs, plugged.Plugged.Passes = nil, card.Addrs
	} else if plugged.Device, err = a.deviceFor(giver, n, plugged); err == nil {
		err = checkDefault(n, req, &plugged)
	}
	if err != nil {
		a.plugs.drop(e)
		a.plugs.takeOutDropped(ctx, card.Token)
		return e, err
	}
	a.nics.note(e)
	a.forgetStaleDefault(pod)
	e.Slot = n.identities.takeSlot()
	e.DefaultRoute = a.defaults.claimFor(n, req, pod, &plugged)
	return e, nil
}

// deviceFor is the device of a NIC that was plugged in, if programs drive the network's NICs.
func (a *Agent) deviceFor(giver heddle.NICGiver, n *network, plugged heddle.NIC) (*heddle.NICDevice, error) {
	driver := giver.DriverOf(n.Network)
	if driver == "" {
		return nil, nil
	}
	d, err := a.kernel.Device(plugged, driver)
	return &d, err
}

// forEndpoint returns a NIC for an endpoint: one of the network's pool if the request leaves all open, or one that is plugged in for it.
func (p *plugs) forEndpoint(ctx context.Context, network, on string, req heddle.AttachRequest) (heddle.NIC, nic.Card, error) {
	order := nic.Order{Token: plugToken(req.ID), Network: on, MAC: req.MAC, IPs: req.IPs}
	if req.MoveFrom != "" {
		order, err := p.orderFrom(ctx, req.MoveFrom, order)
		if err != nil {
			return heddle.NIC{}, nic.Card{}, err
		}
		return p.plugWithRoom(ctx, order)
	}
	if w, pooled := p.warmNetwork(network); pooled && req.MAC == "" && len(req.IPs) == 0 {
		return p.fromPool(ctx, w)
	}
	if order.MAC == "" {
		order.MAC = req.ID.DefaultMAC(network, 0)
		order.Chosen = p.chosen(order.Token, order.MAC)
	}
	return p.plugWithRoom(ctx, order)
}

// takeOutHeld has an endpoint's plugged NIC taken out although its container does not let go of it: what the hypervisor has taken
// out, nobody has. It reports whether that ends the removal, which has failed by that. A device that a program has open is left to it: the
// kernel would wait for the program, and nothing else could be plugged in or taken out meanwhile.
func (a *Agent) takeOutHeld(r record, why error) bool {
	given := r.Endpoint.NIC
	if a.opt.NICs == nil || given == nil || given.Plugged == nil || given.Device != nil || heddle.Quarantined.In(why) == nil {
		return false
	}
	a.plugs.distrust(given.Plugged.Token)
	defer a.plugs.tokens.Lock(given.Plugged.Token)()
	if err := a.plugs.unplug(context.Background(), given.Plugged.Token); err != nil {
		return false
	}
	if err := a.holds.release(r); err != nil {
		return false
	}
	a.log.Info("a container did not let go of its NIC, which was taken out", "endpoint", r.Endpoint.ID, "mac", given.MAC)
	return true
}

func noProvider(op, object string) error {
	return heddle.Errorf(heddle.BadOption, op, object, "nobody plugs NICs into this machine",
		"start heddled with --nic-grant, the file that 'heddle nic grant' has made on the hypervisor, or on a cloud's instance with --nic-cloud")
}

// offerTime limits the question what the provider offers, when a network is created.
const offerTime = 10 * time.Second

// checkPlugsOn refuses a network for NICs that nobody plugs in.
func (a *Agent) checkPlugsOn(mode heddle.Mode, n heddle.Network) error {
	giver, _ := mode.(heddle.NICGiver)
	sharer, shares := mode.(heddle.ParentPlugger)
	on := ""
	switch {
	case giver != nil:
		on = giver.PlugsOn(n)
	case shares:
		on = sharer.ParentsOn(n)
	}
	if on == "" {
		return nil
	}
	if a.opt.NICs == nil {
		return noProvider("create network", n.Name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), offerTime)
	defer cancel()
	if giver != nil && giver.DriverOf(n) != "" {
		if err := a.kernel.CheckDriver(giver.DriverOf(n)); err != nil {
			return err
		}
	}
	offer, err := a.opt.NICs.Describe(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(offer.Networks, on) {
		return heddle.Errorf(heddle.BadOption, "create network", n.Name, "this machine may have no NICs on network "+on+" of its provider",
			"name one of "+strings.Join(offer.Networks, ", "))
	}
	if n.FromDHCP() && !slices.Contains(offer.DHCP, on) {
		return heddle.Errorf(heddle.BadOption, "create network", n.Name, "on network "+on+" of its provider no DHCP server can be asked: who plugs a NIC in says there what its addresses are",
			"leave --opt addresses=dhcp out: the NICs come with addresses")
	}
	if shares && offer.Addresses == 0 {
		return oneAddress("create network", n.Name)
	}
	return nil
}
