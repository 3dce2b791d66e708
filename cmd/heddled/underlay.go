package main

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
)

// underlay reads the addresses at which other hosts reach this one, at most one
// of each family, and the MTU of their interface. Text has addresses and names of
// interfaces; empty, it means the interface with the default route.
func underlay(text string, host heddle.HostFacts) ([]netip.Addr, int, error) {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	if len(words) == 0 {
		l, ok := host.Uplink(heddle.Network{})
		if !ok {
			return nil, 0, heddle.Errorf(heddle.NoParent, "find underlay address", "",
				"there is no default route, which would name an interface",
				"name this host's address or interface with --underlay")
		}
		words = []string{l.Name}
	}
	var all []netip.Addr
	mtu := 0
	for _, word := range words {
		addrs, on, err := underlayOf(word, host)
		if err != nil {
			return nil, 0, err
		}
		all = append(all, addrs...)
		if mtu == 0 || on.MTU < mtu {
			mtu = on.MTU
		}
	}
	if len(all) > 2 || len(all) == 2 && heddle.FamilyOf(all[0]) == heddle.FamilyOf(all[1]) {
		return nil, 0, heddle.Errorf(heddle.BadArgument, "read flag", "--underlay",
			heddle.List(all)+" has more than one address of a family", "give one address of each family at most")
	}
	slices.SortFunc(all, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() })
	return all, mtu, nil
}

// underlayOf finds an address, or the first global ones of an interface.
func underlayOf(word string, host heddle.HostFacts) ([]netip.Addr, heddle.LinkFact, error) {
	want, err := netip.ParseAddr(word)
	if err == nil {
		if l, ok := host.Holder(want.Unmap()); ok {
			return []netip.Addr{want.Unmap()}, l, nil
		}
		return nil, heddle.LinkFact{}, heddle.Errorf(heddle.NoParent, "find underlay address", word,
			"it is on no interface of this host", "name an address that 'ip address' shows, or an interface, with --underlay")
	}
	l, ok := host.Link(word)
	if !ok {
		return nil, l, heddle.Errorf(heddle.NoParent, "find underlay interface", word, "there is no such interface",
			"name an address or interface that 'ip address' shows with --underlay")
	}
	var v4, v6 []netip.Addr
	for _, p := range l.Addrs {
		switch a := p.Addr(); {
		case a.Is4():
			v4 = append(v4, a)
		case a.IsGlobalUnicast():
			v6 = append(v6, a)
		}
	}
	found := append(v4[:min(1, len(v4))], v6[:min(1, len(v6))]...)
	if len(found) == 0 {
		return nil, l, heddle.Errorf(heddle.NoParent, "use underlay interface", word, "it has no address",
			"give the interface an address, or name another one with --underlay")
	}
	return found, l, nil
}
