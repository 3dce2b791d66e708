package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/events"
	"github.com/heddle-network/heddle/nic"
)

// A NIC that was plugged in for an endpoint moves to another machine of the same hypervisor (nic.Mover). There the endpoint of the
// same ID takes it over. Here the endpoint ends when the provider has the NIC no more.

// hasPlugged reports whether a NIC was plugged in for the endpoint.
func (a *Agent) hasPlugged(id heddle.EndpointID) bool {
	r, known := a.records.get(id)
	return known && r.plugged() != nil
}

// plugged is what the provider said of the endpoint's NIC; nil if none was plugged in.
func (r record) plugged() *heddle.PluggedNIC {
	if r.Endpoint.NIC == nil {
		return nil
	}
	return r.Endpoint.NIC.Plugged
}

// permitMove lets another machine take over the endpoint's NIC, or with to "" does not any more. It is recorded before the provider is
// told: an endpoint whose NIC has gone to another machine is to end, also if the agent was killed between.
func (a *Agent) permitMove(ctx context.Context, id heddle.EndpointID, to string) (heddle.Endpoint, error) {
	defer a.endpointLocks.Lock(id)()
	r, err := a.checkPermit(id, to)
	if err != nil {
		return heddle.Endpoint{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, plugTime)
	defer cancel()
	before := r.Endpoint.MovesTo
	if to != "" {
		r, err = a.noteMove(r, to)
	}
	if err == nil {
		err = a.opt.NICs.Permit(ctx, r.plugged().Token, to, plugToken(id))
	}
	switch {
	case heddle.NICNotGranted.In(err) != nil: // after another error it may be permitted
		_, undo := a.noteMove(r, before)
		err = errors.Join(err, undo)
	case err == nil && to == "":
		r, err = a.keepNIC(ctx, r)
		signal(a.plugs.soon) // it may be in no machine now
	}
	return r.withPort(), err
}

// checkPermit refuses to let a machine take over what it cannot, and returns the endpoint's record.
func (a *Agent) checkPermit(id heddle.EndpointID, to string) (record, error) {
	if a.opt.NICs == nil {
		return record{}, noProvider("move endpoint", id.String())
	}
	if to != "" {
		if err := nic.CheckMachine(to); err != nil {
			return record{}, err
		}
	}
	r, known := a.records.get(id)
	switch {
	case !known || a.records.pendingOf(id) != "" || r.plugged() == nil:
		return r, noEndpoint(id)
	case r.Endpoint.ProgramDrives():
		return r, heddle.Errorf(heddle.BadOption, "move endpoint", id.String(), "a program drives its NIC, and would have to let go of it first", "detach it, and attach its container anew")
	case r.Endpoint.DHCP != nil:
		return r, heddle.Errorf(heddle.BadOption, "move endpoint", id.String(), "a DHCP server has leased its address to this machine's agent, by whose network it knows the container: no other one can go on with that lease",
			"detach it, and attach its container anew on the other machine")
	}
	return r, nil
}

// keepNIC records that no machine may take over the endpoint's NIC any more. If one has it already, the endpoint is to end.
func (a *Agent) keepNIC(ctx context.Context, r record) (record, error) {
	all, err := a.plugs.list(ctx)
	if err != nil {
		return r, err
	}
	if to := r.Endpoint.MovesTo; to != "" && !slices.ContainsFunc(all, func(c nic.Card) bool { return c.Token == r.plugged().Token }) {
		return r, heddle.Errorf(heddle.NICNotGranted, "keep endpoint", r.Endpoint.ID.String(), "its NIC has moved to machine "+to,
			"the endpoint ends here in some seconds; to have the NIC back, run 'heddle endpoint move' on "+to)
	}
	return a.noteMove(r, "")
}

// noteMove records which machine may take over the endpoint's NIC.
func (a *Agent) noteMove(r record, to string) (record, error) {
	a.endpointLocks.mustHold(r.Endpoint.ID)
	if r.Endpoint.MovesTo == to {
		return r, nil
	}
	next := r
	next.Endpoint.MovesTo = to
	if err := a.trip.step("ledger move of NIC"); err != nil {
		return r, err
	}
	if err := a.ledger.putRecord(next); err != nil {
		return r, err
	}
	a.records.put(next)
	a.networks.endpointEvent(events.Updated, next.Endpoint)
	return next, nil
}

// permitCommands is the dry run of permitMove.
func (a *Agent) permitCommands(id heddle.EndpointID, to string) (heddle.Endpoint, []string, error) {
	r, err := a.checkPermit(id, to)
	if err != nil {
		return heddle.Endpoint{}, nil, err
	}
	if to == "" {
		return r.Endpoint, []string{fmt.Sprintf("# at the hypervisor: no machine may take over NIC %s any more", r.Endpoint.MAC)}, nil
	}
	return r.Endpoint, []string{fmt.Sprintf("# at the hypervisor: machine %s may take over NIC %s, for endpoint %s", to, r.Endpoint.MAC, id)}, nil
}

// orderFrom is an order for a NIC of another machine, which that machine permits.
func (p *plugs) orderFrom(ctx context.Context, machine string, order nic.Order) (nic.Order, error) {
	ctx, cancel := context.WithTimeout(ctx, offerTime)
	defer cancel()
	offer, err := p.provider.Describe(ctx)
	if err != nil {
		return order, err
	}
	permitted := offer.Permitted
	all, err := p.provider.List(ctx) // an earlier try may have taken it
	if err != nil {
		return order, err
	}
	for _, c := range all {
		permitted = append(permitted, nic.Permitted{From: c.From, Token: c.Token, Network: c.Network, MAC: c.MAC, Addrs: c.Addrs})
	}
	i := slices.IndexFunc(permitted, func(o nic.Permitted) bool { return o.From == machine && o.Token == order.Token })
	if i < 0 {
		return order, heddle.Errorf(heddle.NICNotGranted, "take over NIC of machine", machine, "it does not permit it, or the time is over",
			"run 'heddle endpoint move ID --to "+offer.Machine+"' there, and attach under the same ID here")
	}
	given := permitted[i]
	if given.Network != order.Network {
		return order, heddle.Errorf(heddle.BadOption, "take over NIC of machine", machine, "it is on the hypervisor's network "+given.Network,
			"attach to a network that was created with --opt plug="+given.Network)
	}
	order.From, order.MAC = machine, given.MAC
	for _, a := range given.Addrs {
		order.IPs = append(order.IPs, a.Addr())
	}
	return order, nil
}

// confirmMove tells the provider that the endpoint has the NIC that it took over. If the other machine has called it back, the endpoint is
// removed. If the provider does not answer, it is told later.
func (a *Agent) confirmMove(ctx context.Context, r record) error {
	if err := a.trip.step("confirm move of NIC"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), offerTime)
	defer cancel()
	err := a.opt.NICs.Confirm(ctx, r.plugged().Token)
	if heddle.NICNotGranted.In(err) != nil {
		if now, known := a.records.get(r.Endpoint.ID); known {
			err = errors.Join(err, a.remove(now)) // its default route may have been arranged meanwhile
		}
		return err
	}
	if err != nil {
		a.log.Warn("the machine from which a NIC has come is not told yet", "endpoint", r.Endpoint.ID, "error", err)
		signal(a.plugs.soon)
	}
	return nil
}

// endMoves confirms what has come, and ends or forgets what may go. all is what the provider has.
func (p *plugs) endMoves(ctx context.Context, all []nic.Card) error {
	has := map[string]nic.Card{}
	for _, c := range all {
		has[c.Token] = c
	}
	var errs []error
	var going []heddle.EndpointID
	var come []string
	p.records.each(func(r record, op string) {
		given := r.plugged()
		if given == nil || op != "" {
			return
		}
		if has[given.Token].From != "" {
			come = append(come, given.Token)
		}
		if r.Endpoint.MovesTo != has[given.Token].To {
			going = append(going, r.Endpoint.ID)
		}
	})
	for _, token := range come {
		errs = append(errs, p.provider.Confirm(ctx, token))
	}
	for _, id := range going {
		errs = append(errs, p.settle(ctx, id))
	}
	return errors.Join(errs...)
}

// settleMove ends an endpoint whose NIC has moved to another machine, or notes which one may take it over.
func (a *Agent) settleMove(ctx context.Context, id heddle.EndpointID) error {
	r, ended, err := a.settle(ctx, id)
	if ended && r.Endpoint.DefaultRoute {
		a.defaults.pass(r.Inode)
	}
	return err
}

func (a *Agent) settle(ctx context.Context, id heddle.EndpointID) (r record, ended bool, err error) {
	defer a.endpointLocks.Lock(id)()
	r, known := a.records.get(id)
	if !known || a.records.pendingOf(id) != "" || r.plugged() == nil {
		return r, false, nil
	}
	all, err := a.plugs.list(ctx) // with the lock: it may have been permitted after the provider was asked
	if err != nil {
		return r, false, err
	}
	i := slices.IndexFunc(all, func(c nic.Card) bool { return c.Token == r.plugged().Token })
	if i >= 0 {
		_, err := a.noteMove(r, all[i].To)
		return r, false, err
	}
	if here, err := a.hasNIC(r); err != nil || here || r.Endpoint.MovesTo == "" {
		return r, false, err // the hypervisor may have lost its records
	}
	defer a.activity.begin()()
	if err := a.remove(r); err != nil {
		return r, false, err
	}
	a.log.Info("a NIC has moved to another machine, and its endpoint ends here", "endpoint", id, "machine", r.Endpoint.MovesTo)
	return r, true, nil
}

// hasNIC reports whether an endpoint's NIC is in its container, or on this host.
func (a *Agent) hasNIC(r record) (bool, error) {
	if err := a.host.refresh(); err != nil {
		return false, err
	}
	if slices.ContainsFunc(a.host.now().Links, func(l heddle.LinkFact) bool { return l.MAC == r.Endpoint.MAC }) {
		return true, nil
	}
	pod, err := a.containers.openPod(r)
	if pod == nil {
		return false, err
	}
	defer pod.Close()
	there, err := pod.Find(r.alias())
	return there != nil, err
}
