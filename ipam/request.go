package ipam

import (
	"fmt"
	"net/netip"

	"github.com/heddle-network/heddle"
)

// checkRequested returns the requested addresses in the order of the families, or an error if one
// of them is refused. The zero value stands for no request.
func (p *Pool) checkRequested(id heddle.EndpointID, want []netip.Addr, check func(*familyPool, heddle.EndpointID, netip.Addr) error) ([]netip.Prefix, error) {
	asked := make([]netip.Prefix, len(p.families))
	for _, a := range want {
		i, l := p.familyOf(a)
		switch {
		case !a.IsValid() || a.Zone() != "" || a.Is4In6():
			return nil, refuse(heddle.BadAddress, id, a, "it is not a plain IP address", "give an IPv4 or IPv6 address without a zone")
		case l == nil:
			return nil, refuse(heddle.BadAddress, id, a, "network "+p.name+" has no subnet of that family", another)
		case asked[i].IsValid():
			return nil, refuse(heddle.BadAddress, id, a, "it asks for "+asked[i].Addr().String()+" too, which is of the same family", "ask for one address of a family")
		}
		if err := check(l, id, a); err != nil {
			return nil, err
		}
		asked[i] = netip.PrefixFrom(a, l.subnet.Bits())
	}
	return asked, nil
}

// checkFree says why id does not get an address of this family.
func (l *familyPool) checkFree(id heddle.EndpointID, a netip.Addr) error {
	if err := l.checkHoldable(id, a); err != nil {
		return err
	}
	if who := l.setAside[a]; who != "" {
		return refuse(heddle.AddressTaken, id, a, who+" has it", another)
	}
	return nil
}

// checkHoldable says why id cannot hold an address of this family. An address that is set aside can
// be held: an endpoint that has it already keeps it.
func (l *familyPool) checkHoldable(id heddle.EndpointID, a netip.Addr) error {
	if !l.subnet.Contains(a) {
		return refuse(heddle.OutsidePool, id, a, "it is outside "+l.subnet.String(), another)
	}
	if part := l.ownUse(a); part != "" {
		return refuse(heddle.AddressTaken, id, a, "it is the "+part+" of "+l.subnet.String(), another)
	}
	if holder := l.held.holder(a); holder != nil {
		return refuse(heddle.AddressTaken, id, a, "endpoint "+holder.id.String()+" has it", another)
	}
	return nil
}

func (p *Pool) exhausted(id heddle.EndpointID, l *familyPool) error {
	s := l.stats()
	return heddle.Errorf(heddle.PoolExhausted, "lease an address to endpoint", id.String(),
		fmt.Sprintf("%d of %d addresses to give out in %s of network %s are used", s.Used, s.Size, l.subnet, p.name),
		"detach endpoints, or create a network with a larger subnet")
}

// another is the remedy if an endpoint does not get the requested address.
const another = "choose another address, or leave it out"

func refuse(code heddle.Code, id heddle.EndpointID, a netip.Addr, cause, remedy string) error {
	return heddle.Errorf(code, "lease address", a.String()+" to endpoint "+id.String(), cause, remedy)
}
