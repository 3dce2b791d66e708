package agent

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/names"
)

const (
	// ownInterval and othersInterval are the least times between two rounds that write the tables,
	// for changes of this host and for those of other hosts. After a long round, the first is at
	// least as long as the round, the second othersRest times as long.
	ownInterval, othersInterval = time.Millisecond, 10 * time.Millisecond
	othersRest                  = 4
	// namesRetry is how long a table that could not be written waits.
	namesRetry = time.Second
)

// nameTables are the names of the endpoints of this host's networks, on all hosts: one table for
// each network, and files of the same content for the resolver. They follow in the background.
type nameTables struct {
	dir string
	// resolver is the program that answers containers; "" if none does.
	resolver string
	forwards []names.Forward
	cluster  cluster.API // nil without a cluster
	log      *slog.Logger
	networks *register
	records  *records
	// told says that the cluster was told the names of this host's endpoints, forwardsTold that the
	// resolver was told of domains with name servers of their own.
	told, forwardsTold bool
	// again signals that something has changed, askedSignal that containers ask at a further address.
	// Their capacity is one.
	again, askedSignal chan struct{}

	// own are the endpoints of this host, by the ID of their network. They belong to who follows.
	own map[string]*ownNames

	mu mutex[atNames]
	// stale are the endpoints on this host that have changed, by the ID of their network.
	stale  map[string]changed
	tables map[string]nameTable
	// served are the addresses at which the resolver has answered.
	served map[netip.Addr]bool
	// updating says that what was stale is being written. updated is closed when that is over, and then replaced.
	updating bool
	updated  chan struct{}
	// failed is why a file could not be written, resolverFailed why no resolver runs.
	failed, resolverFailed error
}

// nameTable is the table of one network, as it was written.
type nameTable struct {
	// is has no endpoints: those are in parts, one if there are few (see fewNames), or nameParts.
	is    names.Network
	parts [][]names.Endpoint
	// others are the endpoints of other hosts, from what the cluster says of them, nil if they
	// were read from an earlier agent's files.
	others []names.Endpoint
	from   *cluster.NetworkNames
}

func newNameTables() *nameTables {
	return &nameTables{again: make(chan struct{}, 1), askedSignal: make(chan struct{}, 1), own: map[string]*ownNames{},
		updated: make(chan struct{}), stale: map[string]changed{}, tables: map[string]nameTable{}, served: map[netip.Addr]bool{}}
}

// endpointChanged notes that an endpoint on this host has changed.
func (t *nameTables) endpointChanged(network string, id heddle.EndpointID) {
	t.mu.Lock()
	c := t.stale[network]
	if c.ids == nil {
		c.ids = map[heddle.EndpointID]bool{}
	}
	c.ids[id] = true
	t.stale[network] = c
	t.mu.Unlock()
	signal(t.again)
}

// follow keeps tables and files up to date until ctx ends. A container may ask for names as soon as
// it is attached, so changes of this host come first.
func (t *nameTables) follow(ctx context.Context) {
	var changed <-chan struct{}
	if t.cluster != nil {
		changed = t.cluster.NamesChanged()
	}
	for ctx.Err() == nil {
		began := time.Now()
		var retry <-chan time.Time
		if err := t.update(); err != nil {
			retry = time.After(namesRetry)
		}
		took := time.Since(began)
		pause(ctx, max(ownInterval, took))
		rested := time.After(max(othersInterval, othersRest*took))
		var others <-chan struct{} // once it has rested
		for waits := true; waits; {
			select {
			case <-ctx.Done():
				return
			case <-rested:
				others = changed
				continue
			case <-t.again:
			case <-others:
			case <-retry:
			}
			waits = false
		}
	}
}

// update brings all tables in line with the records, the networks and the cluster.
func (t *nameTables) update() error {
	defer t.noteUpdated()
	networks := t.networks.copies()
	stale := t.takeStale(networks)
	made := map[string][]names.Endpoint{}
	for id, c := range stale {
		t.followRecords(id, c)
		made[id] = nil
		if t.cluster != nil {
			made[id] = t.own[id].made()
		}
	}
	if t.cluster != nil && (len(stale) > 0 || !t.told) {
		t.cluster.SetNames(made)
		t.told = true
	}
	failed := t.writeForwards()
	current := map[string]bool{}
	for _, n := range networks {
		current[n.ID] = true
		if err := t.updateOne(n, stale[n.ID]); err != nil {
			failed = err
		}
	}
	maps.DeleteFunc(t.own, func(id string, _ *ownNames) bool { return !current[id] })
	for _, id := range t.ids() {
		if !current[id] {
			if err := t.drop(id); err != nil {
				failed = err
			}
		}
	}
	t.setFailed(failed)
	return failed
}

// takeStale returns the endpoints that have changed, and all of networks without a table.
func (t *nameTables) takeStale(networks []*network) map[string]changed {
	t.mu.Lock()
	defer t.mu.Unlock()
	stale := t.stale
	t.updating = true
	t.stale = map[string]changed{}
	for _, n := range networks {
		if _, there := t.tables[n.ID]; !there {
			stale[n.ID] = changed{all: true}
		}
	}
	return stale
}

func (t *nameTables) noteUpdated() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.updating = false
	close(t.updated)
	t.updated = make(chan struct{})
}

// namesWait bounds how long a list of names waits for a change that was made before it.
const namesWait = 2 * time.Second

// awaitUpdated waits until the tables have what has changed on this host so far, but not if files cannot be written.
func (t *nameTables) awaitUpdated() {
	limit := time.After(namesWait)
	for {
		t.mu.Lock()
		current, updated := len(t.stale) == 0 && !t.updating || t.failed != nil, t.updated
		t.mu.Unlock()
		if current {
			return
		}
		select {
		case <-updated:
		case <-limit:
			return
		}
	}
}

// updateOne brings a network's table in line, and its files.
func (t *nameTables) updateOne(n *network, c changed) error {
	old, there := t.table(n.ID)
	next, own := old, t.own[n.ID]
	if t.cluster != nil {
		if !there && n.Shared {
			next.others = t.readOthers(n.ID)
		}
		if is := t.cluster.Names(n.ID); is != nil {
			next.from, next.others = is, is.Endpoints
		}
	}
	next.is = names.Network{ID: n.ID, Name: n.Name, Internal: n.Internal, Subnets: ownNamed(n),
		Listen: t.resolversOf(own.at(n), n.plan.Host, func(a netip.Addr) bool { return own.listen[a] > 0 })}
	if there && next.from == old.from && len(c.ids) == 0 && !c.all && next.is.Equal(old.is) {
		return nil
	}
	if next.from != old.from {
		c.all = true
	}
	if err := t.writeParts(&next, old, own, c); err != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.stale[n.ID] = changed{all: true} // as long as the files are not written
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tables[n.ID] = next
	for _, a := range old.is.Listen {
		if !slices.Contains(next.is.Listen, a) {
			delete(t.served, a)
		}
	}
	if len(next.is.Listen) > len(old.is.Listen) {
		signal(t.askedSignal)
	}
	return nil
}

// drop removes the table and the files of a network that is gone.
func (t *nameTables) drop(id string) error {
	one, _ := t.table(id)
	if err := t.removeFiles(id, len(one.parts)); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range t.tables[id].is.Listen {
		delete(t.served, a)
	}
	delete(t.tables, id)
	return nil
}

func (t *nameTables) table(id string) (nameTable, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one, there := t.tables[id]
	return one, there
}

// answers reports whether containers of a network can ask at an address of this host.
func (t *nameTables) answers(network string) bool {
	one, _ := t.table(network)
	return len(one.is.Listen) > 0
}

func (t *nameTables) ids() (all []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range t.tables {
		all = append(all, id)
	}
	return all
}

func (t *nameTables) setFailed(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil && (t.failed == nil || t.failed.Error() != err.Error()) {
		t.log.Error("names are not written", "error", err)
	}
	t.failed = err
}

// all returns what the tables say, and what does not work.
func (t *nameTables) all() (all []names.Network, failed error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.tables {
		n := one.is
		n.Endpoints = slices.Concat(one.parts...)
		all = append(all, n)
	}
	return all, errors.Join(t.failed, t.resolverFailed)
}

// ownNamed are the subnets whose addresses have the network's names alone. Those of a LAN have the
// names of its own name servers, too.
func ownNamed(n *network) []netip.Prefix {
	if _, guest := n.mode.(heddle.LANMode); guest {
		return nil
	}
	return n.Subnets
}

// resolversOf are where a network's containers ask for names: its gateways that are addresses of
// this host, or the resolver's own address beside a LAN. The plans say which are: the network's,
// or those of its endpoints. There are none where no resolver is to run.
func (t *nameTables) resolversOf(n heddle.Network, plan heddle.State, planned func(netip.Addr) bool) (all []netip.Addr) {
	if t.resolver == "" {
		return nil
	}
	own := []netip.Addr{heddle.ResolverAddr(heddle.IPv4), heddle.ResolverAddr(heddle.IPv6)}
	for _, g := range slices.Concat(n.Gateways, own) {
		if planned(g) || slices.ContainsFunc(plan.Addresses, func(a heddle.Address) bool { return a.Prefix.Addr() == g }) {
			all = append(all, g)
		}
	}
	return all
}
