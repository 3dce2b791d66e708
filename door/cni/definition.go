package cni

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"sync"

	"github.com/heddle-network/heddle"
)

// definition is the network that the configuration defines.
type definition struct {
	mode, subnet, gateway, parent string
	subnets, gateways, ranges     []string
	mtu                           int
	internal                      bool
	options                       map[string]string
	// present says that the configuration has one of the keys.
	present bool
}

func (definition) hasKey(key string) bool {
	return slices.Contains([]string{"mode", "subnet", "subnets", "gateway", "gateways", "ranges", "parent", "mtu", "internal", "options"}, key)
}

func (d definition) network(name string) (n heddle.Network, err error) {
	if d.mode == "" {
		return n, badKey("mode", "it is missing, though other keys define the network",
			"give the network a mode, such as bridge, or leave out all keys but network")
	}
	n = heddle.Network{Name: name, Mode: d.mode, Parent: d.parent, MTU: d.mtu, Internal: d.internal, Options: d.options}
	if n.Subnets, err = prefixes("subnets", d.subnet, d.subnets); err != nil {
		return n, err
	}
	if n.Ranges, err = prefixes("ranges", "", d.ranges); err != nil {
		return n, err
	}
	for _, s := range allValues(d.gateway, d.gateways) {
		g, err := netip.ParseAddr(s)
		if err != nil {
			return n, badKey("gateways", fmt.Sprintf("%q is not an address", heddle.Clip(s)), "give addresses such as 10.20.0.1")
		}
		n.Gateways = append(n.Gateways, g)
	}
	return n, nil
}

// allValues joins the value of a singular key (subnet) with those of the plural (subnets).
func allValues(single string, several []string) []string {
	if single == "" {
		return several
	}
	return append([]string{single}, several...)
}

func prefixes(key, single string, several []string) (all []netip.Prefix, err error) {
	for _, s := range allValues(single, several) {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, badKey(key, fmt.Sprintf("%q is not a prefix", heddle.Clip(s)), "give prefixes such as 10.20.0.0/24")
		}
		all = append(all, p)
	}
	return all, nil
}

// confirmedDefinitions remembers which definitions the agent has found to agree with the existing
// networks. To compare them, the agent reads the host's state, which takes longer than an
// attach. There is one entry for each network.
type confirmedDefinitions struct {
	mu     sync.Mutex
	byName map[string]confirmedDefinition
}

type confirmedDefinition struct {
	id         string
	definition heddle.Network
}

func (d *confirmedDefinitions) has(n, with heddle.Network) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	a, ok := d.byName[n.Name]
	return ok && a.id == n.ID && reflect.DeepEqual(a.definition, with)
}

func (d *confirmedDefinitions) add(n, with heddle.Network) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byName == nil {
		d.byName = map[string]confirmedDefinition{}
	}
	d.byName[n.Name] = confirmedDefinition{n.ID, with}
}

// network returns the configuration's network, and creates it if the
// configuration defines it.
func (h *Handler) network(c Conf) (heddle.Network, error) {
	n, err := h.networks.Network(c.Network)
	if c.Definition == nil {
		if errors.Is(err, heddle.NoNetwork.Sentinel()) {
			return n, badKey("network", heddle.SentenceOf(err),
				fmt.Sprintf("create the network ('heddle network create %s --mode bridge --subnet …'), or define it in the configuration with the keys mode and subnets", c.Network))
		}
		return n, err
	}
	if err == nil && h.confirmed.has(n, *c.Definition) {
		return n, nil
	}
	n, _, err = h.networks.CreateNetwork(*c.Definition, false)
	if err == nil {
		h.confirmed.add(n, *c.Definition)
	}
	return n, err
}
