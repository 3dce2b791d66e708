package docker

import (
	"context"
	"net/netip"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
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

// ipamCapabilities: pools and addresses are on disk, so the engine need not request them
// again.
func (s *Server) ipamCapabilities(context.Context, nothing) (any, error) {
	return ipamCapabilities{}, nil
}

func (s *Server) addressSpaces(context.Context, nothing) (any, error) {
	return addressSpaces{localSpace, globalSpace}, nil
}

// requestPool is called before CreateNetwork, and knows neither the network nor its mode.
// It also returns the gateway, so that the engine does not request an address for it.
func (s *Server) requestPool(_ context.Context, q requestPool) (any, error) {
	ask := agent.PoolRequest{V6: q.V6, Network: q.Options[KeyID]}
	for key := range q.Options {
		if key != KeyID {
			return nil, heddle.Errorf(heddle.BadOption, "IPAM option", heddle.Clip(key), "", "the only one is "+KeyID)
		}
	}
	var err error
	if ask.Subnet, err = prefix(q.Pool); err != nil {
		return nil, err
	}
	if ask.Range, err = prefix(q.SubPool); err != nil {
		return nil, err
	}
	p, err := s.agent.RequestPool(ask)
	if err != nil {
		return nil, err
	}
	return pool{PoolID: p.ID, Pool: p.Subnet.String(), Data: map[string]string{keyGateway: p.Gateway.String()}}, nil
}

func prefix(text string) (p netip.Prefix, err error) {
	if text == "" {
		return p, nil
	}
	if p, err = netip.ParsePrefix(text); err != nil {
		return p, heddle.Wrap(heddle.BadSubnet, "read Docker's pool", heddle.Clip(text), err, "give a prefix such as 10.20.0.0/24")
	}
	return p.Masked(), nil
}

func (s *Server) releasePool(_ context.Context, q poolRef) (any, error) {
	return nothing{}, s.agent.ReleasePool(q.PoolID)
}

// requestAddress takes a lease that has no endpoint yet. A gateway's address belongs to
// the network and is never leased, however often it is requested.
func (s *Server) requestAddress(ctx context.Context, q requestAddress) (any, error) {
	var wanted netip.Addr
	if q.Address != "" {
		var err error
		if wanted, err = bare(q.Address); err != nil {
			return nil, err
		}
	}
	if q.Options[keyRequestType] == keyGateway {
		return s.gateway(q.PoolID, wanted)
	}
	mac := heddle.MAC("")
	if text := q.Options[keyMAC]; text != "" {
		var err error
		if mac, err = heddle.ParseMAC(text); err != nil {
			return nil, err
		}
	}
	p, err := s.agent.Lease(ctx, q.PoolID, wanted, mac)
	if err != nil {
		return nil, err
	}
	return address{Address: p.String(), Data: map[string]string{}}, nil
}

// gateway answers with the pool's own gateway, or with the one that the network is about
// to be created with.
func (s *Server) gateway(id string, wanted netip.Addr) (any, error) {
	for _, p := range s.agent.Pools() {
		if p.ID != id {
			continue
		}
		if !wanted.IsValid() {
			wanted = p.Gateway.Addr()
		}
		if !p.Subnet.Contains(wanted) {
			return nil, heddle.Errorf(heddle.OutsidePool, "gateway", wanted.String(), "", "give one in "+p.Subnet.String())
		}
		return address{Address: netip.PrefixFrom(wanted, p.Subnet.Bits()).String(), Data: map[string]string{}}, nil
	}
	return nil, heddle.Errorf(heddle.OutsidePool, "gateway of pool", heddle.Clip(id), "", "ask for the pool first (RequestPool)")
}

// releaseAddress gives a lease back; a missing lease is no error.
func (s *Server) releaseAddress(_ context.Context, q releaseAddress) (any, error) {
	a, err := bare(q.Address)
	if err != nil {
		return nil, err
	}
	return nothing{}, s.agent.Unlease(q.PoolID, a)
}

// rangesOf are the ranges that were requested with the pools of a network; CreateNetwork
// does not repeat them.
func (s *Server) rangesOf(w wishes) (all []netip.Prefix) {
	for i, subnet := range w.network.Subnets {
		p, known := s.agent.PoolOf(subnet)
		if known && p.Range.IsValid() && ours(w.spaces[i]) {
			all = append(all, p.Range)
		}
	}
	return all
}

// ours reports whether an address space belongs to this door's IPAM.
func ours(space string) bool { return space == localSpace || space == globalSpace }
