package docker

import (
	"context"
	"net/netip"

	"github.com/heddle-network/heddle"
)

// The address spaces by which a pool is known to be ours. The engine takes the
// local one, since our networks are local to it.
const (
	localSpace  = "heddle-local"
	globalSpace = "heddle-global"
)

// The engine's requests for a gateway are told apart by an option (moby,
// libnetwork/ipamapi).
const keyRequestType = "RequestAddressType"

// ipamCapabilities: pools and addresses are on disk, and need not be asked for
// again.
func (s *Server) ipamCapabilities(context.Context, nothing) (any, error) {
	return ipamCapabilities{}, nil
}

func (s *Server) addressSpaces(context.Context, nothing) (any, error) {
	return addressSpaces{localSpace, globalSpace}, nil
}

// requestPool comes before CreateNetwork and knows no network, nor its mode. The
// gateway goes along, so that the engine does not take an address for it.
func (s *Server) requestPool(_ context.Context, q requestPool) (any, error) {
	ask := heddle.PoolRequest{V6: q.V6, Network: q.Options[KeyID]}
	for key := range q.Options {
		if key != KeyID {
			return nil, heddle.Errorf(heddle.BadOption, "IPAM option", clip(key), "the only one is "+KeyID)
		}
	}
	var err error
	if ask.Subnet, err = prefix(q.Pool); err != nil {
		return nil, err
	}
	if ask.Range, err = prefix(q.SubPool); err != nil {
		return nil, err
	}
	p, err := s.agent.TakePool(ask)
	if err != nil {
		return nil, err
	}
	gateway := netip.PrefixFrom(p.Gateway, p.Subnet.Bits()).String()
	return pool{PoolID: p.ID, Pool: p.Subnet.String(), Data: map[string]string{keyGateway: gateway}}, nil
}

func prefix(text string) (p netip.Prefix, err error) {
	if text == "" {
		return p, nil
	}
	if p, err = netip.ParsePrefix(text); err != nil {
		return p, heddle.Wrap(heddle.BadSubnet, "read Docker's pool", clip(text), err, "give a prefix such as 10.20.0.0/24")
	}
	return p.Masked(), nil
}

func (s *Server) releasePool(_ context.Context, q poolRef) (any, error) {
	return nothing{}, s.agent.GivePool(q.PoolID)
}

// requestAddress takes a lease that no endpoint has yet.
func (s *Server) requestAddress(ctx context.Context, q requestAddress) (any, error) {
	var wanted netip.Addr
	if q.Address != "" {
		var err error
		if wanted, err = bare(q.Address); err != nil {
			return nil, err
		}
	}
	gateway := q.Options[keyRequestType] == keyGateway
	p, err := s.agent.Lease(ctx, heddle.LeaseRequest{Pool: q.PoolID, Addr: wanted, Gateway: gateway})
	if err != nil {
		return nil, err
	}
	return address{Address: p.String(), Data: map[string]string{}}, nil
}

// releaseAddress gives a lease back; one that is not there is well.
func (s *Server) releaseAddress(_ context.Context, q releaseAddress) (any, error) {
	a, err := bare(q.Address)
	if err != nil {
		return nil, err
	}
	return nothing{}, s.agent.Unlease(q.PoolID, a)
}

// ranges are those that were asked for with the pools of a network.
func (s *Server) ranges(w wishes) (all []netip.Prefix, err error) {
	return nil, nil
}
