package cluster

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/names"
)

// NetworkNames are the names that a network's endpoints have on the other hosts. They do not change
// once they are returned.
type NetworkNames struct {
	// Endpoints are sorted by host and ID.
	Endpoints []names.Endpoint
	// refused are the first records that are not accepted, by key; refusedCount is how many there are.
	refused      []Refusal
	refusedCount int
}

// noNames are the names of a network that has none on other hosts.
var noNames NetworkNames

// judgedNames are the names of a network as they were at a change of its names and at a view.
type judgedNames struct {
	changed, view uint64
	is            *NetworkNames
}

// Names returns the names that a network's endpoints have on the other hosts: the same pointer as
// long as they do not change. It is nil until the store was seen.
func (c *Cluster) Names(network string) *NetworkNames {
	c.mu.Lock()
	last, n, view := c.judged[network], c.names.byNetwork[network], c.view.Load()
	switch {
	case !c.accepted || view.Revision == 0:
		c.mu.Unlock()
		return last.is
	case n == nil:
		delete(c.judged, network)
		c.mu.Unlock()
		return &noNames
	case last.is != nil && last.changed == n.changed && last.view == c.views:
		c.mu.Unlock()
		return last.is
	}
	items, changed, views := slices.Collect(maps.Values(n.items)), n.changed, c.views
	c.mu.Unlock()
	now := judgeNames(view, network, items) // without the lock, for there may be many
	c.mu.Lock()
	defer c.mu.Unlock()
	if last = c.judged[network]; last.is != nil && last.is.equal(now) {
		now = last.is
	}
	c.judged[network] = judgedNames{changed, views, now}
	return now
}

// NamesChanged receives after names of other hosts may have changed; it has room for one.
func (c *Cluster) NamesChanged() <-chan struct{} { return c.namesChanged }

// RefusedNames lists the first records of names that this host does not accept, and counts them.
func (c *Cluster) RefusedNames() (all []Refusal, total int) {
	c.mu.Lock()
	networks := c.names.networks()
	c.mu.Unlock()
	told := map[string]int{}
	for _, id := range networks {
		n := c.Names(id)
		if n == nil {
			continue
		}
		total += n.refusedCount
		for _, f := range n.refused {
			if told[f.Writer]++; told[f.Writer] <= maxRefusals {
				all = append(all, f)
			}
		}
	}
	return all, total
}

func (n *NetworkNames) equal(o *NetworkNames) bool {
	return n.refusedCount == o.refusedCount && slices.Equal(n.refused, o.refused) && slices.EqualFunc(n.Endpoints, o.Endpoints, names.Endpoint.Equal)
}

// judgeNames decides which records of a network's names are accepted: those of the view's peers,
// for addresses that are theirs.
func judgeNames(v *View, network string, items []*nameItem) *NetworkNames {
	slices.SortFunc(items, func(a, b *nameItem) int { return strings.Compare(a.key, b.key) })
	h := holdersOf(v, network)
	now, told := &NetworkNames{}, map[string]int{}
	for _, i := range items {
		if i.host == v.Self.Name {
			continue // this host knows its own
		}
		why := i.refused
		if why == "" {
			why = h.whyNot(i)
		}
		if why == "" {
			now.Endpoints = append(now.Endpoints, names.Endpoint{ID: i.id, Host: i.host, Name: i.said.Name, Aliases: i.said.Aliases, Addrs: i.said.Addrs, Ports: i.said.Ports})
			continue
		}
		now.refusedCount++
		if told[i.host]++; told[i.host] <= maxRefusals {
			now.refused = append(now.refused, Refusal{heddle.Clip(i.key), i.host, why})
		}
	}
	return now
}

// holders says which host has which address of a network.
type holders struct {
	// network is nil if the cluster has no such network.
	network *heddle.Network
	// peers are the IDs of the other hosts, by name.
	peers  map[string]string
	blocks map[netip.Prefix]string
	pins   map[netip.Addr]string
}

func holdersOf(v *View, network string) holders {
	h := holders{peers: map[string]string{}, blocks: map[netip.Prefix]string{}, pins: map[netip.Addr]string{}}
	if i := slices.IndexFunc(v.Networks, func(n heddle.Network) bool { return n.ID == network }); i >= 0 {
		h.network = &v.Networks[i]
	}
	for _, p := range v.Peers {
		h.peers[p.Name] = p.ID
	}
	for _, b := range v.Blocks {
		if b.Network == network {
			h.blocks[b.Prefix] = b.Host
		}
	}
	for _, p := range v.Pins {
		if p.Network == network {
			h.pins[p.Addr] = p.Host
		}
	}
	return h
}

// whyNot returns why a well-formed record is not accepted, "" if it is.
func (h holders) whyNot(i *nameItem) string {
	id, known := h.peers[i.host]
	switch {
	case h.network == nil:
		return "the cluster has no such network"
	case !known:
		return "it is of no host of the cluster"
	case i.said.Host != id:
		return "it is in the name of another host"
	}
	for _, a := range i.said.Addrs {
		if slices.Contains(h.network.Gateways, a) {
			return "its address " + a.String() + " is the network's gateway"
		}
		if h.holder(a) != id {
			return fmt.Sprintf("its address %s is in no block of host %s, nor lent to it", a, i.host)
		}
	}
	return ""
}

// holder returns the host that has an address, "" if none has: a lent address is with its borrower.
func (h holders) holder(a netip.Addr) string {
	if host, lent := h.pins[a]; lent {
		return host
	}
	for _, s := range h.network.Subnets {
		if s.Contains(a) {
			return h.blocks[heddle.BlockOf(s, a)]
		}
	}
	return ""
}
