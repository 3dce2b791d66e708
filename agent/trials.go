package agent

import (
	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/trial"
)

// trials tries out modes on this kernel, and remembers what works.
type trials struct {
	modes modes
	// untried says that the modes are known to work.
	untried bool
	// trying is held while a mode is tried: what works for both address families works for each, so
	// whoever wants one waits for the trial of both.
	trying keyed[atTrial, string]

	mu      rwMutex[atTrials]
	working map[trial.Case]bool
}

func newTrials(m modes, untried bool) *trials {
	return &trials{modes: m, untried: untried, working: map[trial.Case]bool{}}
}

// probe refuses a network whose mode does not work on this kernel, with the kernel's message and
// the mode that comes closest. A success is remembered until the agent ends. A failure is not: a
// kernel module may be loaded later.
func (t *trials) probe(mode heddle.Mode, n heddle.Network) error {
	if _, endless := mode.(heddle.Endless); endless {
		return nil
	}
	wanted := trial.CaseOf(n)
	err := t.try(mode, wanted)
	if err == nil {
		return nil
	}
	best, found := trial.Best(wanted, t.modes.names(), func(c trial.Case) bool {
		m, unknown := t.modes.find(c.Mode)
		return unknown == nil && t.try(m, c) == nil
	})
	return heddle.Errorf(heddle.NotOnKernel, "create network", n.Name, "mode "+n.Mode+" does not work here: "+heddle.SentenceOf(err),
		heddle.FirstRemedy(err, trial.Advice(wanted, best, found)))
}

// tryAhead is Agent.TryAhead.
func (t *trials) tryAhead(mode string) {
	m, err := t.modes.find(mode)
	if err != nil || t.untried {
		return
	}
	defer t.trying.Lock(mode)()
	works := []trial.Case{{Mode: mode, IPv4: true, IPv6: true}, {Mode: mode, IPv4: true}, {Mode: mode, IPv6: true}}
	if trial.Run(m, works[0]) != nil {
		works = works[1:2]
		if trial.Run(m, works[0]) != nil {
			return
		}
	}
	t.markWorking(works...) // if both families work together, each works alone
}

// try runs a trial, unless one has succeeded before.
func (t *trials) try(m heddle.Mode, c trial.Case) error {
	if t.knownToWork(c) {
		return nil
	}
	defer t.trying.Lock(c.Mode)()
	if t.knownToWork(c) {
		return nil
	}
	err := trial.Run(m, c)
	if err == nil {
		t.markWorking(c)
	}
	return err
}

// tryPacketLog tries what tells of refused packets, unless all is known to work.
func (t *trials) tryPacketLog() error {
	if t.untried {
		return nil
	}
	return trial.PacketLog()
}

// knownToWork reports whether a mode is known to work.
func (t *trials) knownToWork(c trial.Case) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.untried || t.working[c]
}

// markWorking notes that these cases work.
func (t *trials) markWorking(works ...trial.Case) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range works {
		t.working[c] = true
	}
}
