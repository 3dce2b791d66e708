package agent

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/commands"
	"github.com/heddle-network/heddle/havip"
)

// CreateHAVIP makes an address that one of several endpoints holds; nobody does yet. One that is there and says the same is left as it
// is. A dry run changes nothing, and returns the commands.
func (a *Agent) CreateHAVIP(want havip.HAVIP, dryRun bool) (shown havip.Shown, lines []string, err error) {
	err = a.againAfterFlush(a.networks.all(), func() (err error) {
		shown, lines, err = a.createHAVIP(want, dryRun)
		return err
	})
	return shown, lines, err
}

func (a *Agent) createHAVIP(want havip.HAVIP, dryRun bool) (shown havip.Shown, lines []string, err error) {
	const op = "create HAVIP"
	end, err := a.beginHAVIP(op, want.Name)
	if err != nil {
		return shown, nil, err
	}
	defer end()
	defer a.policies.refresh() // what denies members denies what they send from the address; what fails is told, and tried again
	if err := want.Check(); err != nil {
		return shown, nil, err
	}
	n, err := a.networks.find(want.Network)
	if err != nil {
		return shown, nil, err
	}
	if !holdsHAVIPs(n) || n.FromDHCP() || n.Shared {
		return shown, nil, heddle.Errorf(heddle.BadArgument, op, want.Name, "network "+n.Name+" of mode "+n.Mode+" cannot have one: nothing on this host decides where its packets go",
			"use a network of mode bridge, of this host alone, that gives out its addresses itself")
	}
	n.usage.RLock()
	defer n.usage.RUnlock()
	if n.usage.deleted {
		return shown, nil, noNetwork(want.Network)
	}
	v := a.havips
	v.updating.Lock()
	defer v.updating.Unlock()
	want.Network, want.NetworkName, want.Created = n.ID, "", time.Now().UTC()
	if old, known := v.all[want.Name]; known {
		if !want.Address.IsValid() {
			want.Address = old.Address
		}
		if !old.Same(want) {
			return shown, nil, heddle.Errorf(heddle.HAVIPExists, op, want.Name, "it has address "+old.Address.String(), "choose another name, or delete it with 'heddle havip delete "+want.Name+"'")
		}
		return v.shown(old, v.holders, v.members()), nil, nil
	}
	if len(v.all) >= havip.MaxHAVIPs {
		return shown, nil, heddle.Errorf(heddle.TooMuch, op, want.Name, "the host has as many as it can have", "delete one that nobody needs")
	}
	if err := a.claimHAVIP(n, &want, dryRun); err != nil {
		return shown, nil, err
	}
	next := maps.Clone(v.all)
	if next == nil {
		next = havip.All{}
	}
	next[want.Name] = want
	members := v.members()
	if dryRun {
		return v.shown(want, v.holders, members), commands.Change(v.state, v.compile(next, v.holders, members), a.wanted.byOthers), nil
	}
	err = a.trip.step("ledger havip")
	if err == nil {
		err = a.ledger.putHAVIP(want)
	}
	if err == nil {
		if err = v.apply(next, v.holders, members); err != nil {
			a.ledger.dropHAVIP(want.Name)
		}
	}
	if err != nil {
		a.noteHAVIPFreed(n, want)
		a.releaseHAVIP(n, want)
		return shown, nil, err
	}
	return v.shown(want, v.holders, members), nil, nil
}

// beginHAVIP begins a call that changes something.
func (a *Agent) beginHAVIP(op, name string) (end func(), err error) {
	if !a.ready.Load() {
		return nil, heddle.Errorf(heddle.Stopping, op, heddle.Clip(name), "", "call again when the agent is back")
	}
	return a.tasks.begin(work{what: op}, "the kernel").end, nil
}

// AssignHAVIP gives an address to one of its members.
func (a *Agent) AssignHAVIP(name string, id heddle.EndpointID, dryRun bool) (shown havip.Shown, lines []string, err error) {
	err = a.againAfterFlush(a.networks.all(), func() (err error) {
		shown, lines, err = a.assignHAVIP(name, id, dryRun)
		return err
	})
	return shown, lines, err
}

func (a *Agent) assignHAVIP(name string, id heddle.EndpointID, dryRun bool) (shown havip.Shown, lines []string, err error) {
	const op = "assign HAVIP"
	end, err := a.beginHAVIP(op, name)
	if err != nil {
		return shown, nil, err
	}
	defer end()
	v := a.havips
	v.updating.Lock()
	defer v.updating.Unlock()
	h, known := v.all[name]
	if !known {
		return shown, nil, noHAVIP(name)
	}
	members := v.members()
	if _, known := a.records.get(id); !known {
		return shown, nil, noEndpoint(id)
	}
	if !slices.ContainsFunc(h.Of(members), func(m havip.Member) bool { return m.ID == id }) {
		return shown, nil, heddle.Errorf(heddle.BadArgument, op, name, "endpoint "+id.String()+" is none of its members", "'heddle havip show "+name+"' says who they are")
	}
	next := havip.Holders{name: id}
	if dryRun {
		holders := maps.Clone(v.holders)
		maps.Copy(holders, next)
		return v.shown(h, holders, members), commands.Change(v.state, v.compile(v.all, holders, members), a.wanted.byOthers), nil
	}
	if v.holders[name] != id {
		if err := v.hold(next, members); err != nil {
			return shown, nil, err
		}
	}
	return v.shown(h, v.holders, members), nil, nil
}

// DeleteHAVIP removes an address. Its members lose it at once.
func (a *Agent) DeleteHAVIP(name string, dryRun bool) (lines []string, err error) {
	err = a.againAfterFlush(a.networks.all(), func() (err error) {
		lines, err = a.deleteHAVIP(name, dryRun)
		return err
	})
	return lines, err
}

func (a *Agent) deleteHAVIP(name string, dryRun bool) (lines []string, err error) {
	const op = "delete HAVIP"
	end, err := a.beginHAVIP(op, name)
	if err != nil {
		return nil, err
	}
	defer end()
	defer a.policies.refresh() // what fails is told, and tried again
	v := a.havips
	v.updating.Lock()
	defer v.updating.Unlock()
	h, known := v.all[name]
	if !known {
		return nil, noHAVIP(name)
	}
	next, holders, members := maps.Clone(v.all), maps.Clone(v.holders), v.members()
	delete(next, name)
	delete(holders, name)
	if dryRun {
		return commands.Change(v.state, v.compile(next, holders, members), a.wanted.byOthers), nil
	}
	if err := a.trip.step("ledger havip delete"); err != nil {
		return nil, err
	}
	n := a.networks.byID(h.Network)
	if n != nil {
		a.noteHAVIPFreed(n, h)
	}
	if err := a.ledger.dropHAVIP(name); err != nil {
		return nil, err
	}
	if err := v.apply(next, holders, members); err != nil {
		return nil, errors.Join(err, a.ledger.putHAVIP(h))
	}
	if err := a.ledger.putHolders(holders); err != nil { // the HAVIP is gone all the same, and the patrol writes again
		v.tell(err)
	}
	if n != nil {
		a.releaseHAVIP(n, h)
	}
	return nil, nil
}
