package service

import (
	"context"
	"slices"

	"github.com/heddle-network/heddle"
)

// maxRequests is how many requests of one machine are worked on at a time. Others wait.
const maxRequests = 8

// guest is a machine of the configuration, with its locks. They are taken in the order of the fields; that of a port, which is
// the service's, comes between tokens and making.
type guest struct {
	Guest
	name string
	// vpcs are those in which it may have NICs; "" is the host. While another one is not known, requests are answered: what the machine has
	// there by an earlier configuration stays until then.
	vpcs []string
	// room has an entry for each request that is worked on.
	room chan struct{}
	// tokens are held for NICs while somebody plugs, unplugs or moves them.
	tokens locks
	// making is full while ports are counted and one is made or taken over, so that there are never too many.
	making chan struct{}
	// watches has an entry for each watch that waits, changes what it waits for.
	watches chan struct{}
	changes *changes
	// compareSoon asks to compare devices with ports at once; its capacity is one.
	compareSoon chan struct{}
	// compared says that the limits of all its ports were compared with the configuration once.
	compared bool
}

func newGuest(name string, g Guest) *guest {
	return &guest{Guest: g, name: name, vpcs: vpcsOf(g.Networks...), room: make(chan struct{}, maxRequests), making: make(chan struct{}, 1),
		watches: make(chan struct{}, maxWatches), changes: newChanges(), compareSoon: make(chan struct{}, 1)}
}

// vpcsOf are the VPCs of networks.
func vpcsOf(networks ...string) (all []string) {
	for _, n := range networks {
		if vpc, _ := heddle.SplitVPC(n); !slices.Contains(all, vpc) {
			all = append(all, vpc)
		}
	}
	return all
}

// enter waits for room, and then for the lock of the token ("": none). After an error of code heddle.Waited
// nothing is held.
func (g *guest) enter(ctx context.Context, token string) (leave func(), err error) {
	if err := g.wait(ctx, g.room); err != nil {
		return nil, err
	}
	leaveRoom := func() { <-g.room }
	if token == "" {
		return leaveRoom, nil
	}
	release, err := g.tokens.take(ctx, token)
	if err != nil {
		leaveRoom()
		return nil, err
	}
	return func() {
		release()
		leaveRoom()
	}, nil
}

// count waits until no other port of the machine is made or taken over.
func (g *guest) count(ctx context.Context) (end func(), err error) {
	if err := g.wait(ctx, g.making); err != nil {
		return nil, err
	}
	return func() { <-g.making }, nil
}

func (g *guest) wait(ctx context.Context, place chan struct{}) error {
	if err := fill(ctx, place); err != nil {
		return heddle.Wrap(heddle.Waited, "wait for other requests of machine", g.name, err, "ask again")
	}
	return nil
}
