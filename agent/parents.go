package agent

import (
	"context"
	"net/netip"
	"time"

	"github.com/heddle-network/heddle"
)

// parents are the NICs that are plugged in for several endpoints each. They stay on the host, as parents of the endpoints' devices; each endpoint
// has a set of further addresses of one. The agent has no record of them but the endpoints': what no endpoint has is learned from the
// provider, or taken out.
type parents struct {
	plugs *plugs
	// taking is held for a network while an address is looked for, and while NICs or addresses come and go.
	taking keyed[atParents, string]

	mu mutex[atParentPools]
	// pools are those of the networks, by ID.
	pools map[string]*parentPool
	// listed says that the provider has told since the start which addresses there are.
	listed bool
	// changes counts how often the NICs' addresses have changed.
	changes int
}

// assignTime limits a change of a NIC's addresses. A cloud may take seconds, and it may have to be waited until it is known what an earlier call has done.
const assignTime = 30 * time.Second

// parentToken begins the tokens of NICs that endpoints share.
const parentToken = "p-"

// parentNetwork is a network whose parents are plugged in.
type parentNetwork struct {
	id, name string
	// on is the provider's network, warm how many addresses are to be there before an endpoint asks.
	on   string
	warm int
	// routed says that the host routes for its endpoints.
	routed bool
}

// networks lists the networks whose parents are plugged in.
func (ps *parents) networks() (all []parentNetwork) {
	for _, n := range ps.plugs.networks.all() {
		mode, err := ps.plugs.modes.find(n.Mode)
		if err != nil {
			continue
		}
		if p, plugs := heddle.PlugsParents(mode, n); plugs {
			all = append(all, parentNetwork{n.ID, n.Name, p.ParentsOn(n), p.WarmAddresses(n), p.RoutesOnParents()})
		}
	}
	return all
}

// network finds a network whose parents are plugged in.
func (ps *parents) network(id string) (w parentNetwork, is bool) {
	for _, w := range ps.networks() {
		if w.id == id {
			return w, true
		}
	}
	return w, false
}

func (ps *parents) poolLocked(network string) *parentPool {
	if ps.pools[network] == nil {
		ps.pools[network] = &parentPool{}
	}
	return ps.pools[network]
}

// take returns a NIC, and a set of its addresses, for an endpoint. If no address is ready, a NIC gets another one, or another NIC is plugged in.
func (ps *parents) take(ctx context.Context, w parentNetwork, id heddle.EndpointID) (heddle.ParentNIC, []netip.Prefix, error) {
	if n, addrs, ok := ps.takeReady(w, id); ok { // nobody has to wait for the provider then
		return n, addrs, nil
	}
	defer ps.taking.Lock(w.id)()
	ctx, cancel := context.WithTimeout(ctx, plugTime)
	defer cancel()
	for {
		if n, addrs, ok := ps.takeReady(w, id); ok {
			return n, addrs, nil
		}
		if err := ps.grow(ctx, w); err != nil {
			return heddle.ParentNIC{}, nil, err
		}
	}
}

// takeReady gives an address that is ready, of a NIC that the host has.
func (ps *parents) takeReady(w parentNetwork, id heddle.EndpointID) (heddle.ParentNIC, []netip.Prefix, bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	on, addrs, ok := ps.poolLocked(w.id).take(id, time.Now())
	if !ok {
		return heddle.ParentNIC{}, nil, false
	}
	signal(ps.plugs.soon) // another one may be wanted to wait
	return on.ParentNIC, addrs, true
}

// give ends what an endpoint has.
func (ps *parents) give(network string, id heddle.EndpointID) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.poolLocked(network).give(id, time.Now())
}

// restore notes, at start, what a recorded endpoint has.
func (ps *parents) restore(e heddle.Endpoint) {
	if e.Parent == nil {
		return
	}
	ps.plugs.want(e.Parent.Token, e.Parent.MAC)
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.poolLocked(e.Network).note(e)
}

// oneAddress is the error for a provider whose NICs have no further addresses.
func oneAddress(op, object string) error {
	return heddle.Errorf(heddle.BadOption, op, object, "who plugs NICs into this machine gives each one address of a family",
		"set addresses in the file of 'heddle nic serve', or in a cloud take a type of instance whose NICs may have several; or use a network of mode direct")
}
