package agent

import (
	"context"
	"errors"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/events"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/nic"
)

// againTime limits how long the agent waits for the kernel to find a NIC that was plugged in again. The endpoint is locked meanwhile.
const againTime = 10 * time.Second

// mend moves NICs into their containers again that are not there any more, while the provider has their ports: the guest's kernel
// may have ejected them, somebody on the hypervisor may have taken them out by hand, or the agent was killed before it had moved
// one. A NIC whose port is gone stays away: the hypervisor has taken it from the container.
func (p *plugs) mend(ctx context.Context, all []nic.Card) error {
	if err := p.host.refresh(); err != nil {
		return err
	}
	var errs []error
	for id, card := range p.astray(all) {
		errs = append(errs, p.putBack(ctx, id, card))
	}
	return errors.Join(errs...)
}

// astray has the NICs, by endpoint, that have a port, and are not plugged in, are on the host, or may be there without an interface: those that programs
// drive. One that another machine has is where it should be.
func (p *plugs) astray(all []nic.Card) map[heddle.EndpointID]nic.Card {
	onHost, in, found := map[heddle.MAC]bool{}, map[string]nic.Card{}, map[heddle.EndpointID]nic.Card{}
	for _, l := range p.host.now().Links {
		onHost[l.MAC] = true
	}
	for _, c := range all {
		if !c.Taken {
			in[c.Token] = c
		}
	}
	p.records.each(func(r record, op string) {
		if given := r.plugged(); given != nil && op == "" && !r.Endpoint.Handover {
			if c, is := in[given.Token]; is && (!c.Plugged || onHost[c.MAC] || r.Endpoint.ProgramDrives()) {
				found[r.Endpoint.ID] = c
			}
		}
	})
	return found
}

// again plugs an endpoint's NIC in again, with its MAC address and addresses. After an error the NIC may be plugged in: it is
// tried again.
func (p *plugs) again(ctx context.Context, on string, e heddle.Endpoint) (heddle.NIC, error) {
	token := e.NIC.Plugged.Token
	defer p.tokens.Lock(token)()
	ctx, cancel := context.WithTimeout(ctx, againTime)
	defer cancel()
	if err := p.trip.step("plug NIC again"); err != nil {
		return heddle.NIC{}, err
	}
	order := nic.Order{Token: token, Network: on, MAC: e.MAC}
	for _, a := range e.PortAddrs() {
		order.IPs = append(order.IPs, a.Addr())
	}
	card, err := p.provider.Plug(ctx, order)
	if err != nil {
		return heddle.NIC{}, err
	}
	return p.await(ctx, card)
}

// putBackNIC moves an endpoint's NIC, which the provider says is card, into the container as before. One that is not plugged in is
// plugged in first.
func (a *Agent) putBackNIC(ctx context.Context, id heddle.EndpointID, card nic.Card) error {
	defer a.endpointLocks.Lock(id)()
	r, known := a.records.get(id)
	if !known || a.records.pendingOf(id) != "" || r.plugged() == nil {
		return nil // it has gone meanwhile
	}
	pod, err := a.containers.openPod(r)
	if pod == nil {
		return err // its container has ended: watchNICs brings its NIC back
	}
	defer pod.Close()
	if there, err := a.isInPlace(r, pod); err != nil || there {
		return err // it was attached when the provider was asked
	}
	if card.Plugged {
		err = a.moveAgain(r, pod)
	}
	// one that was plugged in again before an agent was killed may have another name than its record says
	if !card.Plugged || heddle.NICTaken.In(err) != nil {
		if r, err = a.plugAgain(ctx, r, card.Network); err == nil {
			err = a.moveAgain(r, pod)
		}
	}
	if err != nil {
		return err
	}
	a.log.Warn("a NIC was not in its container any more, and is there again", "endpoint", id, "mac", r.Endpoint.MAC)
	a.verifyLease(r.Endpoint)
	a.networks.endpointEvent(events.Updated, r.Endpoint)
	a.lanDevices.announce(r.Endpoint, pod)
	return nil
}

// isInPlace reports whether an endpoint's NIC is in its container, or its device is bound for a program.
func (a *Agent) isInPlace(r record, pod kernel.Pod) (bool, error) {
	if r.Endpoint.ProgramDrives() {
		drift, err := a.kernel.Diff(heddle.Plan{Pod: heddle.State{NICs: r.Plan.Pod.NICs}}, pod)
		return len(drift) == 0, err
	}
	there, err := pod.Find(r.alias())
	return there != nil, err
}

// moveAgain moves a NIC that is on the host into its container.
func (a *Agent) moveAgain(r record, pod kernel.Pod) error {
	defer a.activity.begin()()
	if err := a.trip.step("move NIC again"); err != nil {
		return err
	}
	return a.apply(r, pod)
}

// plugAgain has an endpoint's NIC plugged in again, on the provider's network on, and returns the endpoint's record with it. The NIC is
// not in the container yet.
func (a *Agent) plugAgain(ctx context.Context, r record, on string) (record, error) {
	n, err := a.networks.ofEndpoint(r.Endpoint)
	if err != nil {
		return r, err
	}
	given, err := a.plugs.again(ctx, on, r.Endpoint)
	if err != nil {
		return r, err
	}
	if giver, is := n.mode.(heddle.NICGiver); is {
		if given.Device, err = a.deviceFor(giver, n, given); err != nil {
			return r, err
		}
	}
	given.Plugged.Passes = r.plugged().Passes
	next := r
	next.Endpoint.NIC = &given
	if next.Plan, err = n.planFor(a.host.now(), next.Endpoint); err != nil {
		return r, err
	}
	if err := a.ledger.putRecord(next); err != nil {
		return r, err
	}
	a.records.replace(r, next)
	a.nics.free(next.Endpoint.ID) // its name on the host may be another one
	a.nics.note(next.Endpoint)
	return next, nil
}
