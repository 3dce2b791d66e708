package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/havip"
	"github.com/heddle-network/heddle/policy"
)

// policies are the policies of this host, and what its firewall has so that they are enforced. That is computed from the policies and
// the endpoints, and recorded nowhere: after a crash it is computed again.
type policies struct {
	kernel   PlanApplier
	log      *slog.Logger
	trip     tripwire
	ledger   *ledger
	networks *register
	records  *records
	wanted   *wantedObjects
	problems *problems
	refused  *refused
	havips   *havips

	// unsettled says that something has failed, and that the patrol has to try it again.
	unsettled atomic.Bool
	// asked counts the calls of refresh.
	asked atomic.Uint64
	// updating is held while the firewall is brought in line. done is how many calls of refresh have been heeded by then, doneErr what
	// came of the last.
	updating mutex[atPolicies]
	done     uint64
	doneErr  error
	// gone is what could not be removed yet; the next change and the patrol try it again.
	gone leftovers

	mu rwMutex[atPolicyList]
	// list is replaced as a whole, by the holder of updating; so is guard, what the firewall has for it.
	list  policy.Policies
	guard policy.Guard
}

// policyOwner owns the objects of policies among problems and findings.
const policyOwner = "policies"

// all are the policies. Nobody changes them.
func (p *policies) all() policy.Policies {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.list
}

// state is what the firewall has for policies.
func (p *policies) state() heddle.State {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.guard.All()
}

// member is an endpoint as policies see it.
func (p *policies) member(n *network, e heddle.Endpoint) policy.Member {
	m := policy.Member{ID: e.ID, Network: n.Name, Mode: n.Mode, Name: e.Name, Labels: e.Labels}
	if g, ok := n.mode.(heddle.PortGuarder); ok && g.GuardsPorts() {
		m.Port = e.ID.PortName()
	}
	for _, a := range e.AllAddrs() {
		m.Addrs = append(m.Addrs, a.Addr())
	}
	return m
}

// members are all endpoints of this host, by ID.
func (p *policies) members() []policy.Member {
	networks := map[string]*network{}
	for _, n := range p.networks.copies() {
		networks[n.ID] = n
	}
	var all []policy.Member
	share := havip.All.Sharing(p.havips.now())
	p.records.each(func(r record, _ string) {
		if n := networks[r.Endpoint.Network]; n != nil {
			all = append(all, share(n.ID, p.member(n, r.Endpoint)))
		}
	})
	slices.SortFunc(all, func(a, b policy.Member) int { return a.ID.Compare(b.ID) })
	return all
}

// refuseUnguarded refuses policies that select endpoints which nothing on this host can guard.
func refuseUnguarded(op, object string, all policy.Policies, members []policy.Member) error {
	var some []string
	for _, m := range members {
		if m.Port == "" && all.Guards(m) {
			some = append(some, fmt.Sprintf("%s on network %s of mode %s (policy %s)", m.ID, m.Network, m.Mode, heddle.List(all.Selecting(m))))
		}
	}
	if len(some) == 0 {
		return nil
	}
	return heddle.Errorf(heddle.Unguarded, op, object, "nothing on this host sees all that these endpoints send and receive: "+heddle.List(some[:min(len(some), maxTold)])+more(len(some)-maxTold),
		"use networks of mode bridge, or labels, names or a policy by which no policy selects them")
}

// maxTold is how many endpoints a message names.
const maxTold = 5

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// replace changes the policies, all or none.
func (p *policies) replace(c policyChange) error {
	p.updating.Lock()
	defer p.updating.Unlock()
	old, members := p.all(), p.members()
	next, err := c.checked(old, members)
	if err != nil || next == nil {
		return err
	}
	if len(next) > 0 {
		p.listen() // before anything is refused
	}
	if err := p.trip.step("ledger policies"); err != nil {
		return err
	}
	if err := p.ledger.putPolicies(next); err != nil {
		return err
	}
	if err := p.enforce(next, members); err != nil {
		return errors.Join(err, p.ledger.putPolicies(old))
	}
	p.doneErr = nil
	return nil
}

// checked are the policies after a change, or nil if nothing changes. It refuses what this host cannot enforce.
func (c policyChange) checked(old policy.Policies, members []policy.Member) (policy.Policies, error) {
	next, err := c.to(old)
	if err != nil || next == nil {
		return nil, err
	}
	if len(next) > policy.MaxPolicies {
		return nil, heddle.Errorf(heddle.TooMuch, c.op, c.object, fmt.Sprintf("the host would have %d policies", len(next)), fmt.Sprintf("have at most %d", policy.MaxPolicies))
	}
	return next, refuseUnguarded(c.op, c.object, next, members)
}

// refresh brings the firewall in line with endpoints that have come, changed or gone. Calls that wait for another one are heeded together.
func (p *policies) refresh() error {
	call := p.asked.Add(1)
	p.updating.Lock()
	defer p.updating.Unlock()
	if len(p.all()) == 0 && len(p.gone.states) == 0 {
		return nil
	}
	if call <= p.done {
		return p.doneErr
	}
	p.done = p.asked.Load() // before the endpoints are looked at
	members := p.members()
	err := p.enforce(p.all(), members)
	if p.doneErr = err; err != nil {
		p.unsettled.Store(true)
	}
	p.problems.noteUnrepaired(policyOwner, errors.Join(err, p.gone.err, p.unguarded(members)))
	if err != nil {
		p.log.Error("policies are not all enforced", "error", err)
	}
	return err
}

// problem is why not all policies are enforced: what has failed, which is tried again, or an endpoint that has got a name, or its network one,
// after it was attached. What cannot be removed is tried again here.
func (p *policies) problem() error {
	p.updating.Lock()
	defer p.updating.Unlock()
	p.removeGone()
	if len(p.all()) == 0 {
		return p.gone.err
	}
	if p.refused.able {
		p.listen() // anew, if it has ended
	}
	return errors.Join(p.doneErr, p.gone.err, p.unguarded(p.members()))
}

func (p *policies) unguarded(members []policy.Member) error {
	return refuseUnguarded("enforce policies of", "this host", p.all(), members)
}

// admit brings the firewall in line with an endpoint that is recorded and about to be made, so that its port has its policies before
// there is a port. It refuses what accepts does: policies may have come between that and the record.
func (p *policies) admit(n *network, e heddle.Endpoint) (guarded bool, err error) {
	if err := p.refresh(); err != nil {
		return false, err
	}
	return p.all().Guards(p.member(n, e)), p.accepts("attach", n, e)
}

// accepts refuses an endpoint that a policy selects and that cannot be guarded.
func (p *policies) accepts(op string, n *network, e heddle.Endpoint) error {
	return refuseUnguarded(op+" endpoint", e.ID.String()+" of network "+n.Name, p.all(), []policy.Member{p.member(n, e)})
}
