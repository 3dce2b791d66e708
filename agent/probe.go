package agent

import (
	"errors"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/trial"
)

// probe refuses a network whose mode does not work on this kernel, with the
// kernel's own words and the mode that comes closest. A success is remembered
// for the agent's life; a failure is not, for a module may be loaded meanwhile.
func (a *Agent) probe(mode heddle.Mode, n heddle.Network) error {
	wanted := trial.CaseOf(n)
	err := a.try(mode, wanted)
	if err == nil {
		return nil
	}
	best, found := trial.Best(wanted, a.Modes(), func(c trial.Case) bool {
		m, unknown := a.mode(c.Mode)
		return unknown == nil && a.try(m, c) == nil
	})
	refusal := &heddle.Error{Code: heddle.NotOnKernel, Kind: heddle.Unavailable, Op: "mode " + n.Mode + " does not work here: network", Object: n.Name,
		Cause: err.Error(), Remedy: trial.Advice(wanted, best, found)}
	var known *heddle.Error
	if errors.As(err, &known) {
		refusal.Cause = known.Sentence()
		if errors.Is(err, heddle.NoPermission.Sentinel()) {
			refusal.Remedy = known.Remedy + "; " + refusal.Remedy
		}
	}
	return refusal
}

// TryAhead tries a mode before there is a network of it: whoever creates the first
// has a bounded time, and a trial takes a second or more on a busy host. A failure is
// for the one who asks for a network to hear.
func (a *Agent) TryAhead(mode string) {
	m, err := a.mode(mode)
	if err != nil || a.opt.Untried {
		return
	}
	works := []trial.Case{{Mode: mode, IPv4: true, IPv6: true}, {Mode: mode, IPv4: true}, {Mode: mode, IPv6: true}}
	if trial.Run(m, works[0]) != nil {
		works = works[1:2]
		if trial.Run(m, works[0]) != nil {
			return
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range works { // what both families do, each does
		a.tried[c] = true
	}
}

// try is a trial, unless one has succeeded before.
func (a *Agent) try(m heddle.Mode, c trial.Case) error {
	if a.knownToWork(c) {
		return nil
	}
	defer a.trying.Lock(c)()
	if a.knownToWork(c) {
		return nil
	}
	err := trial.Run(m, c)
	if err == nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.tried[c] = true
	}
	return err
}

// knownToWork reports whether a mode is known to work.
func (a *Agent) knownToWork(c trial.Case) bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.opt.Untried || a.tried[c]
}
