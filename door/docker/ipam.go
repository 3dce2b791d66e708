package docker

import (
	"context"
	"net/netip"
	"strconv"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
)

// The address spaces of our pools. The engine uses the local one, since our networks have
// local scope.
const (
	localSpace  = "heddle-local"
	globalSpace = "heddle-global"
)

// keyRequestType is the option that marks the engine's requests for a gateway (moby,
// libnetwork/ipamapi).
const keyRequestType = "RequestAddressType"

// ipamCapabilities: pools and addresses are on disk, so the engine need not request them
// again.
func (s *Server) ipamCapabilities(context.Context, empty) (any, error) {
	return ipamCapabilities{}, nil
}

func (s *Server) addressSpaces(context.Context, empty) (any, error) {
	return addressSpaces{localSpace, globalSpace}, nil
}

// requestPool is called before CreateNetwork, and knows neither the network nor its mode.
// It also returns the gateway, so that the engine does not request an address for it.
func (s *Server) requestPool(_ context.Context, q requestPool) (any, error) {
	ask := agent.PoolRequest{V6: q.V6, Network: q.Options[KeyID]}
	for key := range q.Options {
		if key != KeyID {
			return nil, heddle.Errorf(heddle.BadOption, "request address pool", "",
				"IPAM option "+heddle.Clip(key)+" is not known", "leave the option out; the only one is "+KeyID)
		}
	}
	var err error
	if ask.Subnet, err = parsePrefix(q.Pool); err != nil {
		return nil, err
	}
	if ask.Range, err = parsePrefix(q.SubPool); err != nil {
		return nil, err
	}
	p, err := s.agent.RequestPool(ask)
	if err != nil {
		return nil, err
	}
	return pool{PoolID: p.ID, Pool: p.Subnet.String(), Data: map[string]string{keyGateway: p.Gateway.String()}}, nil
}

func parsePrefix(text string) (p netip.Prefix, err error) {
	if text == "" {
		return p, nil
	}
	if p, err = netip.ParsePrefix(text); err != nil {
		return p, heddle.Wrap(heddle.BadSubnet, "read address pool", strconv.Quote(heddle.Clip(text)), err,
			"give a prefix such as 10.20.0.0/24")
	}
	if cause, remedy := heddle.CheckHostBits(p); cause != "" {
		return p, heddle.Errorf(heddle.BadSubnet, "read address pool", strconv.Quote(p.String()), cause, remedy)
	}
	return p, nil
}

func (s *Server) releasePool(_ context.Context, q poolRef) (any, error) {
	return empty{}, s.agent.ReleasePool(q.PoolID)
}

// requestAddress takes a lease that has no endpoint yet. A gateway's address belongs to
// the network and is never leased, however often it is requested.
func (s *Server) requestAddress(ctx context.Context, q requestAddress) (any, error) {
	var wanted netip.Addr
	if q.Address != "" {
		var err error
		if wanted, err = parseAddr(q.Address); err != nil {
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
			return nil, heddle.Errorf(heddle.OutsidePool, "request gateway", wanted.String(),
				"it is outside the pool "+p.Subnet.String(), "give an address in the pool")
		}
		return address{Address: netip.PrefixFrom(wanted, p.Subnet.Bits()).String(), Data: map[string]string{}}, nil
	}
	return nil, heddle.Errorf(heddle.OutsidePool, "request gateway of pool", heddle.Clip(id), "there is no such pool",
		"request the pool first (RequestPool)")
}

// releaseAddress gives a lease back; a missing lease is no error.
func (s *Server) releaseAddress(_ context.Context, q releaseAddress) (any, error) {
	a, err := parseAddr(q.Address)
	if err != nil {
		return nil, err
	}
	return empty{}, s.agent.Unlease(q.PoolID, a)
}

// rangesOf are the ranges that were requested with the pools of a network; CreateNetwork
// does not repeat them.
func (s *Server) rangesOf(w networkRequest) (all []netip.Prefix) {
	for i, subnet := range w.network.Subnets {
		p, known := s.agent.PoolOf(subnet)
		if known && p.Range.IsValid() && isOwnSpace(w.spaces[i]) {
			all = append(all, p.Range)
		}
	}
	return all
}

// isOwnSpace reports whether an address space belongs to this door's IPAM.
func isOwnSpace(space string) bool { return space == localSpace || space == globalSpace }
