package names

import (
	"net/netip"
	"slices"
	"strings"
)

// Asker is a container with all it may know: the names of the networks that it is on.
type Asker struct {
	Container string
	// Addrs are its own.
	Addrs []netip.Addr
	// Internal says that none of its networks has a way out.
	Internal bool
	indexes  []*Index
}

func (a *Asker) join(x *Index, e Endpoint) {
	a.Addrs = append(a.Addrs, e.Addrs...)
	a.Internal = a.Internal && x.Internal
	if !slices.Contains(a.indexes, x) {
		a.indexes = append(a.indexes, x)
	}
}

// Lookup returns the addresses behind NAME, NAME.NETWORK or NAME.NETWORK.heddle.internal, and
// whether there is such a name. The name has no dot at its end; its case does not matter.
//
// A name that can be read with and without a network is the one with the network, since
// operators name networks, and whoever starts containers names them. If several networks fit,
// the one with the longest name does.
func (a *Asker) Lookup(name string) (addrs []netip.Addr, found bool) {
	name = strings.ToLower(name)
	if short, among := a.place(name); among != nil {
		return a.union(short, among)
	}
	return nil, name == Domain || a.isNetwork(strings.TrimSuffix(name, "."+Domain))
}

// place returns the container's name in a name in small letters, and which networks it is of; nil if
// it is the domain's own name, or below it and of no network's container.
func (a *Asker) place(name string) (short string, among func(*Index) bool) {
	rest, full := strings.CutSuffix(name, "."+Domain)
	if label := a.network(rest); label != "" {
		return strings.TrimSuffix(rest, "."+label), func(x *Index) bool { return x.label == label }
	}
	if full || name == Domain {
		return "", nil
	}
	return name, func(*Index) bool { return true }
}

// network returns the longest network name with which name ends and that has the rest of it.
func (a *Asker) network(name string) (label string) {
	for _, x := range a.indexes {
		short, fits := strings.CutSuffix(name, "."+x.label)
		if _, has := x.addrs[short]; fits && has && len(x.label) > len(label) {
			label = x.label
		}
	}
	return label
}

// isNetwork reports whether one of the networks has the name.
func (a *Asker) isNetwork(name string) bool {
	return slices.ContainsFunc(a.indexes, func(x *Index) bool { return x.label == name })
}

func (a *Asker) union(name string, among func(*Index) bool) (addrs []netip.Addr, found bool) {
	several := false
	for _, x := range a.indexes {
		some, has := x.addrs[name]
		if !has || !among(x) {
			continue
		}
		several = several || found
		found = true
		addrs = append(addrs[:len(addrs):len(addrs)], some...)
	}
	if several {
		slices.SortFunc(addrs, netip.Addr.Compare)
		addrs = slices.Compact(addrs)
	}
	return addrs, found
}

// Names are the full names behind an address of the asker's networks.
func (a *Asker) Names(addr netip.Addr) []string {
	var all []string
	for _, x := range a.indexes {
		all = append(all, x.names[addr]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Holds reports whether all addresses of a prefix are of one of the asker's networks.
func (a *Asker) Holds(p netip.Prefix) bool {
	for _, x := range a.indexes {
		for _, s := range x.Subnets {
			if s.Bits() <= p.Bits() && s.Contains(p.Addr()) {
				return true
			}
		}
	}
	return false
}
