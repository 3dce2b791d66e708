package ipam

import (
	"fmt"
	"net/netip"

	"github.com/heddle-network/heddle"
)

// byLane puts addresses in the order of the lanes, unless a check refuses one of
// them. The zero value stands for no request.
func (p *Pool) byLane(id heddle.EndpointID, want []netip.Addr, check func(*lane, heddle.EndpointID, netip.Addr) error) ([]netip.Prefix, error) {
	asked := make([]netip.Prefix, len(p.lanes))
	for _, a := range want {
		i, l := p.laneOf(a)
		switch {
		case !a.IsValid() || a.Zone() != "" || a.Is4In6():
			return nil, heddle.Errorf(heddle.BadAddress, wants(id), a.String(), "", "give a plain IPv4 or IPv6 address")
		case l == nil:
			return nil, heddle.Errorf(heddle.BadAddress, wants(id), a.String(), "", "network "+p.name+" has no subnet of that family")
		case asked[i].IsValid():
			return nil, heddle.Errorf(heddle.BadAddress, wants(id), a.String(), "", "it wants "+asked[i].Addr().String()+" too, and gets one address per family")
		}
		if err := check(l, id, a); err != nil {
			return nil, err
		}
		asked[i] = netip.PrefixFrom(a, l.subnet.Bits())
	}
	return asked, nil
}

// refuses says why id does not get an address of the lane's family.
func (l *lane) refuses(id heddle.EndpointID, a netip.Addr) error {
	if err := l.excludes(id, a); err != nil {
		return err
	}
	if who := l.aside[a]; who != "" {
		return heddle.Errorf(heddle.AddressTaken, wants(id), a.String(), "", who+" has it; choose another one, or leave it out")
	}
	return nil
}

// excludes says why id cannot be the holder of an address of the lane's family.
// That it is set aside is no such reason: whoever has it already keeps it.
func (l *lane) excludes(id heddle.EndpointID, a netip.Addr) error {
	if !l.subnet.Contains(a) {
		return heddle.Errorf(heddle.OutsidePool, wants(id), a.String(), "", "choose one inside "+l.subnet.String()+", or leave it out")
	}
	if part := l.part(a); part != "" {
		return heddle.Errorf(heddle.AddressTaken, wants(id), a.String(), "", "it is the "+part+" of "+l.subnet.String()+"; choose another one, or leave it out")
	}
	if holder := l.held.holder(a); holder != nil {
		return heddle.Errorf(heddle.AddressTaken, wants(id), a.String(), "", "endpoint "+holder.id.String()+" has it; choose another one, or leave it out")
	}
	return nil
}

func (p *Pool) exhausted(id heddle.EndpointID, l *lane) error {
	s := l.stats()
	return heddle.Errorf(heddle.PoolExhausted, "endpoint "+id.String()+" on network", p.name,
		"", fmt.Sprintf("%d of %d addresses to give out in %s are used; detach endpoints, or create a network with a larger subnet", s.Used, s.Size, l.subnet))
}

func wants(id heddle.EndpointID) string { return "endpoint " + id.String() + " wants" }
