// Package cluster is what the hosts of a cluster agree on through the store:
// who they are, which networks there are, and which host gives out which
// addresses.
//
//	cluster                           id, VNI, port; made once
//	hosts/NAME/self                   the host; its removal fences the host
//	hosts/NAME/alive                  leased; for display only
//	hosts/NAME/pins/NET/ADDR          an address here, out of another's block
//	hosts/NAME/wants/NET/ADDR         a request for an address of another's block
//	hosts/NAME/answers/ASKER/NET/ADDR the owner's answer to it
//	hosts/NAME/names/NET/ENDPOINT     what an endpoint is called, see nameTable
//	networks/NAME                     a network
//	blocks/NET/PREFIX                 a block's owner: compare-and-create
//	removed/ID                        a host that an operator removed
//
// A host writes below hosts/NAME/, and compares-and-creates under blocks/. It writes under
// networks/ only if an operator allowed it (see package join). Every change requires that
// hosts/NAME/self is as this host wrote it. So a host that was removed can change nothing,
// however long it slept. Safety never depends on a lease or a clock.
package cluster

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/names"
	"github.com/heddle-network/heddle/store"
)

// Prefix is where all keys are.
const Prefix = "/heddle/"

// Options of a cluster.
type Options struct {
	Store store.Store
	// Self is this host; its ID and Joined may be left to Open, which keeps them
	// in StateDir.
	Self heddle.Host
	// StateDir is where the last view is kept ("cluster.json"), synced: a host
	// that starts without the store goes on with the blocks it holds.
	StateDir string
	// Port of the tunnels, if this host makes the cluster.
	Port uint16
	// Wait is how long Open waits for the store. After that it goes on with what the host
	// remembers, or fails if it remembers nothing.
	Wait time.Duration
	// MoveTime is how long an address that was sent to another host waits for its
	// endpoint there, before it goes back; 10 minutes if 0.
	MoveTime time.Duration
	Log      *slog.Logger
	// Ranges are what networks may use. They count only if this host makes the cluster.
	// None: DefaultRanges.
	Ranges []netip.Prefix
	// Fits says what the mode of a network finds wrong with its record. The answer is the
	// same on every host.
	Fits func(heddle.Network) error
	// MayWriteNetworks says why this host may not write the networks of the cluster. It
	// returns nil if the host may, or if only the store can tell.
	MayWriteNetworks func(context.Context) error
	// Now is the clock: for display only.
	Now func() time.Time
}

// View is the cluster as last seen. It does not change once it is returned.
type View struct {
	// Revision of the store; 0 if the view is a remembered one.
	Revision int64
	heddle.Fabric
	// Alive has the names of hosts whose agents are connected to the store.
	Alive map[string]bool
	// LeftOut are hosts that are not used as peers, because an earlier host has one of
	// their underlay addresses.
	LeftOut []heddle.Host
	// Ranges are what the cluster's networks may use.
	Ranges []netip.Prefix
	// Refused are records that this host does not accept because of their contents: all
	// records of hosts, and at most 32 others for each writer, or for each kind that
	// several may write. RefusedCount is how many there are.
	Refused      []Refusal
	RefusedCount int
	// RefusedNetworks says, by name, why networks are not accepted. A host that already has
	// such a network keeps it as it is.
	RefusedNetworks map[string]string
	// Lent are addresses of this host's own blocks that another host has, or may
	// have: they must not be given out here.
	Lent []heddle.Pin
	// Moves are addresses lent to this host for an endpoint that is to move here.
	Moves []Move
	// Removed says that an operator removed this host.
	Removed bool
	// Strange is why the store does not belong to this host's cluster, nil if it does.
	Strange error
}

// Move is an address that is to go from one host to another with its endpoint.
type Move struct {
	Network  string            `json:"network"`
	Addr     netip.Addr        `json:"addr"`
	Endpoint heddle.EndpointID `json:"endpoint"`
	MAC      heddle.MAC        `json:"mac,omitempty"`
	// Name and Aliases are what the endpoint is called.
	Name    string   `json:"name,omitempty"`
	Aliases []string `json:"aliases,omitempty"`
	// From and To are host names.
	From string `json:"from"`
	To   string `json:"to"`
}

// Lender decides about addresses of this host's blocks. The agent implements it.
type Lender interface {
	// Lend sets an address aside that another host asks for, or says who has it.
	Lend(network string, a netip.Addr) error
	// Reclaim ends a Lend. The address may be used again unless it is in the view's Lent, because
	// then another host has it.
	Reclaim(network string, a netip.Addr)
}

// API is what *Cluster does for the agent.
type API interface {
	View() *View
	// Changed receives after the view has changed; it has room for one.
	Changed() <-chan struct{}
	// Serve lends addresses until ctx ends.
	Serve(ctx context.Context, l Lender)

	// RenameNetwork gives a network another name, and changes its record with it.
	RenameNetwork(ctx context.Context, id, name string, change func(*heddle.Network)) error
	// CreateNetwork records a network for all hosts, with blocks of it for this one, and
	// returns it. If a network of that name exists, it is returned with an error of code
	// heddle.NetworkExists. Overlapping subnets are heddle.SubnetOverlap. Like all changes,
	// it returns when View shows it.
	CreateNetwork(ctx context.Context, n heddle.Network, blocks []netip.Prefix) (heddle.Network, error)
	// HasNetwork asks the store whether it has a network of that name now, which View may not
	// show yet.
	HasNetwork(ctx context.Context, name string) (bool, error)
	// CheckNetwork returns why CreateNetwork would refuse a network: the cluster's ranges,
	// other records of the cluster, or a missing right to create networks.
	CheckNetwork(ctx context.Context, n heddle.Network) error
	// ChangeNetwork lets change edit the record of the network with the ID, whatever the
	// network's name is now.
	ChangeNetwork(ctx context.Context, id string, change func(*heddle.Network) error) error
	// DeleteNetwork marks the network with the ID as leaving, waits for all hosts to
	// yield their blocks of it, and deletes it; if one keeps its blocks, the mark is
	// taken away and the error (heddle.NetworkInUse) names the hosts.
	DeleteNetwork(ctx context.Context, id string) error
	// DropNetwork deletes the record of a network that is not accepted, by its name.
	DropNetwork(ctx context.Context, name string) error

	// ClaimBlock claims for this host a block of the network in the subnet, and returns it.
	// If near is valid, it claims the block with that address. If another host has that
	// block, the error is heddle.AddressTaken and names the host; if no block is left, it
	// is heddle.PoolExhausted. The block is on this disk when it is returned.
	ClaimBlock(ctx context.Context, n heddle.Network, subnet netip.Prefix, near netip.Addr) (netip.Prefix, error)
	// YieldBlock gives back a block in which this host uses no address.
	YieldBlock(ctx context.Context, network string, block netip.Prefix) error

	// Borrow gets an address of another host's block and pins it here. An address
	// in use there is heddle.AddressTaken, an owner that does not answer
	// heddle.Waited.
	Borrow(ctx context.Context, network string, a netip.Addr, by heddle.EndpointID) error
	// Return gives a borrowed address back; without the store it is done later.
	Return(network string, a netip.Addr)
	// Send lends an address of this host, its own or a borrowed one, for an endpoint that shall
	// move.
	Send(ctx context.Context, m Move) error

	// SetNames says which names this host's endpoints have on the given networks. The first call
	// says it of all networks. The names are published in the background.
	SetNames(networks map[string][]names.Endpoint)
	// Names returns the names of a network's endpoints on the other hosts, the same pointer while
	// they do not change; nil until the store was seen. NamesChanged receives after they may have
	// changed; it has room for one. RefusedNames lists the first records of names that this host
	// does not accept, and counts them.
	Names(network string) *NetworkNames
	NamesChanged() <-chan struct{}
	RefusedNames() (first []Refusal, total int)

	// RemoveHost takes a host that never returns out of the cluster, with its
	// blocks; the store must be an operator's. A host that is alive is refused
	// unless force is set.
	RemoveHost(ctx context.Context, operator store.Store, name string, force bool) error

	Health() store.Health
	Close() error
}
