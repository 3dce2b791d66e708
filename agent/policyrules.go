package agent

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/policy"
)

// How the firewall is brought in line with the policies.

// apply makes what the policies need that is new, groups before the chains that use them and those before the ports that are led there,
// and then removes what they need no more, in the reverse order. After an error all is as before.
func (p *policies) apply(next policy.Policies, members []policy.Member) error {
	old, guard := p.guard, next.Compile(members, p.refused.able)
	was := p.refused.view.Load()
	p.refused.set(next, members) // before anything is refused by the new rules
	p.wanted.add(guard.All())
	for i, part := range guard.Parts() {
		add, _ := heddle.Delta(old.Parts()[i], part)
		if add.Empty() {
			continue
		}
		if _, err := p.kernel.Apply(heddle.Plan{Host: add}, nil); err != nil {
			p.wanted.drop(guard.All())
			p.refused.view.Store(was)
			return errors.Join(err, p.undo(guard, old))
		}
	}
	p.set(next, guard)
	p.wanted.drop(old.All())
	for i, part := range slices.Backward(old.Parts()) {
		_, gone := heddle.Delta(part, guard.Parts()[i])
		p.gone.add(gone)
	}
	p.removeGone()
	return nil
}

// enforce is apply, and again if somebody had just flushed the firewall: the undo has put back what was there.
func (p *policies) enforce(next policy.Policies, members []policy.Member) error {
	err := p.apply(next, members)
	if errors.Is(err, unix.ENOENT) {
		err = p.apply(next, members)
	}
	return err
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

// restore brings the firewall in line with the policies of the ledger. What fails must not prevent the start, nor open what an earlier agent
// has closed: all that can be made is there before anybody is attached, and the patrol tries the rest again.
func (p *policies) restore(list policy.Policies) {
	p.updating.Lock()
	defer p.updating.Unlock()
	members := p.members()
	p.refused.set(list, members)
	if len(list) > 0 {
		p.listen() // to an earlier agent's rules, too
	}
	guard := list.Compile(members, p.refused.able)
	p.wanted.add(guard.All())
	p.set(list, guard)
	for _, part := range guard.Parts() {
		if part.Empty() {
			continue
		}
		if _, err := p.kernel.Apply(heddle.Plan{Host: part}, nil); err != nil {
			p.log.Error("policies are not all enforced", "error", err)
			p.kernel.Mend(part)
		}
	}
}

func (p *policies) set(list policy.Policies, guard policy.Guard) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list, p.guard = list, guard
}

// removeGone removes what no policy needs any more. What cannot be removed is told, and tried again with the next change and by the patrol.
func (p *policies) removeGone() {
	if p.gone.remove(p.kernel, p.wanted); p.gone.err != nil {
		p.log.Error("what a policy needed is not all removed", "error", p.gone.err)
	}
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
