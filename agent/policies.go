package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/heddle-network/heddle"
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

	// asked counts the calls of refresh.
	asked atomic.Uint64
	// updating is held while the firewall is brought in line. done is how many calls of refresh have been heeded by then, doneErr what
	// came of the last.
	updating mutex[atPolicies]
	done     uint64
	doneErr  error

	mu rwMutex[atPolicyList]
	// list is replaced as a whole, by the holder of updating; so are guard, what the firewall has for it, and gone, what could not be
	// removed.
	list  policy.Policies
	guard policy.Guard
	gone  []heddle.State
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
	p.records.each(func(r record, _ string) {
		if n := networks[r.Endpoint.Network]; n != nil {
			all = append(all, p.member(n, r.Endpoint))
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
func (p *policies) replace(op, object string, change func(policy.Policies) (policy.Policies, error)) error {
	p.updating.Lock()
	defer p.updating.Unlock()
	old := p.all()
	next, err := change(old)
	if err != nil || next == nil {
		return err
	}
	if len(next) > policy.MaxPolicies {
		return heddle.Errorf(heddle.TooMuch, op, object, fmt.Sprintf("the host would have %d policies", len(next)), fmt.Sprintf("have at most %d", policy.MaxPolicies))
	}
	members := p.members()
	if err := refuseUnguarded(op, object, next, members); err != nil {
		return err
	}
	if err := p.trip.step("ledger policies"); err != nil {
		return err
	}
	if err := p.ledger.putPolicies(next); err != nil {
		return err
	}
	if err := p.apply(next, members); err != nil {
		return errors.Join(err, p.ledger.putPolicies(old))
	}
	return nil
}

// refresh brings the firewall in line with endpoints that have come, changed or gone. Calls that wait for another one are heeded together.
func (p *policies) refresh() error {
	call := p.asked.Add(1)
	p.updating.Lock()
	defer p.updating.Unlock()
	if len(p.all()) == 0 && len(p.gone) == 0 {
		return nil
	}
	if call <= p.done {
		return p.doneErr
	}
	p.done = p.asked.Load() // before the endpoints are looked at
	members := p.members()
	err := p.apply(p.all(), members)
	p.doneErr = err
	p.problems.noteUnrepaired(policyOwner, errors.Join(err, p.unguarded(members)))
	if err != nil {
		p.log.Error("policies are not all enforced", "error", err)
	}
	return err
}

// problem is why not all policies are enforced: an endpoint has got a name, or its network one, after it was attached. What cannot be
// removed is tried again.
func (p *policies) problem() error {
	p.updating.Lock()
	defer p.updating.Unlock()
	p.removeGone()
	if len(p.all()) == 0 {
		return nil
	}
	return p.unguarded(p.members())
}

func (p *policies) unguarded(members []policy.Member) error {
	return refuseUnguarded("enforce policies of", "this host", p.all(), members)
}

// admit brings the firewall in line with an endpoint that is recorded and about to be made, so that its port has its policies before
// there is a port.
func (p *policies) admit(n *network, e heddle.Endpoint) (guarded bool, err error) {
	if err := p.accepts(n, e); err != nil {
		return false, err
	}
	if err := p.refresh(); err != nil {
		return false, err
	}
	return p.all().Guards(p.member(n, e)), nil
}

// accepts refuses an endpoint that a policy selects and that cannot be guarded.
func (p *policies) accepts(n *network, e heddle.Endpoint) error {
	return refuseUnguarded("attach endpoint", e.ID.String()+" to network "+n.Name, p.all(), []policy.Member{p.member(n, e)})
}

// apply makes what the policies need that is new, groups before the chains that use them and those before the ports that are led there,
// and then removes what they need no more, in the reverse order. After an error all is as before.
func (p *policies) apply(next policy.Policies, members []policy.Member) error {
	old, guard := p.guard, next.Compile(members)
	p.wanted.add(guard.All())
	for i, part := range guard.Parts() {
		add, _ := heddle.Delta(old.Parts()[i], part)
		if add.Empty() {
			continue
		}
		if _, err := p.kernel.Apply(heddle.Plan{Host: add}, nil); err != nil {
			p.wanted.drop(guard.All())
			return errors.Join(err, p.undo(guard, old))
		}
	}
	p.mu.Lock()
	p.list, p.guard = next, guard
	p.mu.Unlock()
	p.wanted.drop(old.All())
	for i, part := range slices.Backward(old.Parts()) {
		_, gone := heddle.Delta(part, guard.Parts()[i])
		if !gone.Empty() {
			p.gone = append(p.gone, gone)
		}
	}
	p.removeGone()
	return nil
}

// undo brings back what was there before a change that failed.
func (p *policies) undo(failed, old policy.Guard) error {
	var errs []error
	for _, part := range old.Parts() {
		_, err := p.kernel.Apply(heddle.Plan{Host: part}, nil)
		errs = append(errs, err)
	}
	for _, part := range slices.Backward(failed.Parts()) {
		errs = append(errs, p.kernel.Remove(heddle.Plan{Host: part}, nil, p.wanted.has))
	}
	return errors.Join(errs...)
}

// restore brings the firewall in line with the policies of the ledger. What fails must not prevent the start: the patrol tries again.
func (p *policies) restore(list policy.Policies) {
	p.updating.Lock()
	defer p.updating.Unlock()
	members := p.members()
	if err := p.apply(list, members); err != nil {
		p.log.Error("policies are not all enforced", "error", err)
		guard := list.Compile(members)
		p.wanted.add(guard.All())
		p.mu.Lock()
		p.list, p.guard = list, guard
		p.mu.Unlock()
	}
}

// removeGone removes what no policy needs any more. What cannot be removed is tried again with the next change.
func (p *policies) removeGone() {
	var left []heddle.State
	for _, s := range p.gone {
		if err := p.kernel.Remove(heddle.Plan{Host: s}, nil, p.wanted.has); err != nil {
			p.log.Error("what a policy needed is not all removed", "error", err)
			left = append(left, s)
		}
	}
	p.gone = left
}

// repair puts back what somebody has removed or changed.
func (p *policies) repair() (made []string, err error) {
	p.updating.Lock()
	defer p.updating.Unlock()
	for _, part := range p.guard.Parts() {
		some, wrong := p.kernel.Mend(part)
		made, err = append(made, some...), errors.Join(err, wrong)
	}
	return made, err
}
