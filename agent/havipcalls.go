package agent

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/commands"
	"github.com/heddle-network/heddle/havip"
)

// HAVIPs lists the addresses of this host that one of several endpoints holds, by name.
func (a *Agent) HAVIPs() []havip.Shown {
	all, holders := a.havips.now()
	members := a.havips.members()
	shown := make([]havip.Shown, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		shown = append(shown, a.havips.shown(all[name], holders, members))
	}
	return shown
}

// HAVIP returns one.
func (a *Agent) HAVIP(name string) (havip.Shown, error) {
	all, holders := a.havips.now()
	h, known := all[name]
	if !known {
		return havip.Shown{}, noHAVIP(name)
	}
	return a.havips.shown(h, holders, a.havips.members()), nil
}

func noHAVIP(name string) error {
	return heddle.Errorf(heddle.NoHAVIP, "find HAVIP", heddle.Clip(name), "", "'heddle havip list' shows those there are")
}

func (v *havips) shown(h havip.HAVIP, holders havip.Holders, members []havip.Member) havip.Shown {
	s := havip.Shown{HAVIP: h, Endpoints: []heddle.EndpointID{}}
	if n := v.networks.byID(h.Network); n != nil {
		s.NetworkName = n.Name
	}
	for _, m := range h.Of(members) {
		s.Endpoints = append(s.Endpoints, m.ID)
	}
	slices.SortFunc(s.Endpoints, heddle.EndpointID.Compare)
	if id, held := holders[h.Name]; held {
		s.Holder = &id
	}
	return s
}

// on are the addresses of a network.
func (v *havips) on(network string) []havip.HAVIP {
	all, _ := v.now()
	return all.On(network)
}

// CreateHAVIP makes an address that one of several endpoints holds; nobody does yet. One that is there and says the same is left as it
// is. A dry run changes nothing, and returns the commands.
func (a *Agent) CreateHAVIP(want havip.HAVIP, dryRun bool) (shown havip.Shown, lines []string, err error) {
	const op = "create HAVIP"
	end, err := a.beginHAVIP(op, want.Name)
	if err != nil {
		return shown, nil, err
	}
	defer end()
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
	const op = "delete HAVIP"
	end, err := a.beginHAVIP(op, name)
	if err != nil {
		return nil, err
	}
	defer end()
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
	if err := cmp.Or(a.ledger.putHolders(v.holders, holders), a.ledger.dropHAVIP(name)); err != nil {
		return nil, err
	}
	if err := v.apply(next, holders, members); err != nil {
		return nil, cmp.Or(err, a.ledger.putHAVIP(h))
	}
	if n := a.networks.byID(h.Network); n != nil {
		a.releaseHAVIP(n, h)
	}
	return nil, nil
}

// claimHAVIP leases the address, and reserves the ports.
func (a *Agent) claimHAVIP(n *network, h *havip.HAVIP, dryRun bool) error {
	if err := checkMappings(h.HolderID(), h.Ports); err != nil {
		return err
	}
	for _, p := range h.Ports {
		if p.IsOpen() || p.HostPortEnd != 0 {
			return heddle.Errorf(heddle.BadPort, "publish port", p.String()+" of HAVIP "+h.Name, "the host's port is left open", "name the host's port: HOST:CONTAINER")
		}
	}
	if err := checkPorts(n, heddle.AttachRequest{Ports: h.Ports}, a.kernel.Listen); err != nil {
		return err
	}
	subnet := n.Subnets[0]
	if h.Address.IsValid() {
		i := slices.IndexFunc(n.Subnets, func(p netip.Prefix) bool { return p.Contains(h.Address) })
		if i < 0 {
			return heddle.Errorf(heddle.OutsidePool, "create HAVIP", h.Name, h.Address.String()+" is in no subnet of network "+n.Name, "choose an address of the network, or leave it out")
		}
		subnet = n.Subnets[i]
	}
	if dryRun {
		return a.previewHAVIP(n, subnet, h)
	}
	leased, err := n.pool.TakeOne(subnet, h.Address, func(netip.Addr) heddle.EndpointID { return h.HolderID() })
	if err != nil {
		return err
	}
	h.Address = leased.Addr()
	if _, err = a.ports.reserve(h.HolderID(), h.Ports, nil); err != nil {
		n.pool.Give(h.HolderID())
	}
	return err
}

// previewHAVIP is claimHAVIP that takes nothing.
func (a *Agent) previewHAVIP(n *network, subnet netip.Prefix, h *havip.HAVIP) error {
	var asked []netip.Addr
	if h.Address.IsValid() {
		asked = append(asked, h.Address)
	}
	free, err := n.pool.Preview(h.HolderID(), asked)
	if err != nil {
		return err
	}
	for _, p := range free {
		if subnet.Contains(p.Addr()) {
			h.Address = p.Addr()
		}
	}
	if _, err := a.ports.reserve(h.HolderID(), h.Ports, nil); err != nil {
		return err
	}
	a.ports.free(h.HolderID(), h.Ports)
	return nil
}

// releaseHAVIP gives back what claimHAVIP took. Nobody gets the address for a while, and no connection to it is left then.
func (a *Agent) releaseHAVIP(n *network, h havip.HAVIP) {
	a.ports.free(h.HolderID(), h.Ports)
	n.pool.Give(h.HolderID())
	a.flows.forgetAddresses(h.Address)
	if err := a.ledger.noteFreed(n.ID, []netip.Prefix{netip.PrefixFrom(h.Address, h.Address.BitLen())}, time.Now()); err != nil {
		a.log.Warn("a freed address is not recorded; an agent that starts may give it again at once", "havip", h.Name, "error", err)
	}
}

// restoreHAVIPClaims claims again, at start, what recorded addresses hold, before anybody else can.
func (a *Agent) restoreHAVIPClaims(all havip.All) {
	for _, h := range all {
		n := a.networks.byID(h.Network)
		if n == nil {
			a.log.Error("a HAVIP's network is not in the ledger", "havip", h.Name)
			continue
		}
		err := n.pool.Restore(h.HolderID(), []netip.Prefix{netip.PrefixFrom(h.Address, subnetOf(n, h.Address).Bits())})
		if err == nil {
			_, err = a.ports.reserve(h.HolderID(), h.Ports, nil)
		}
		if err != nil {
			a.log.Error("a HAVIP's address or ports are not claimed", "havip", h.Name, "error", err)
		}
	}
}

func subnetOf(n *network, a netip.Addr) netip.Prefix {
	for _, p := range n.Subnets {
		if p.Contains(a) {
			return p
		}
	}
	return netip.PrefixFrom(a, a.BitLen())
}
