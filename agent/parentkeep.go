package agent

import (
	"context"
	"errors"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// keep keeps the addresses that networks want to wait, and gives back what nobody needs.
func (ps *parents) keep(ctx context.Context) error {
	var errs []error
	stays := map[string]bool{}
	for _, w := range ps.networks() {
		stays[w.id] = true
		errs = append(errs, ps.keepOne(ctx, w))
	}
	ps.mu.Lock()
	var others []string
	for id := range ps.pools {
		if !stays[id] {
			others = append(others, id)
		}
	}
	ps.mu.Unlock()
	for _, id := range others {
		ps.dropAll(ctx, id)
	}
	return errors.Join(errs...)
}

func (ps *parents) keepOne(ctx context.Context, w parentNetwork) error {
	for more := true; more; {
		var err error
		if more, err = ps.growWarm(ctx, w); err != nil {
			return err
		}
	}
	defer ps.taking.Lock(w.id)()
	ps.dropEmpty(w, w.warm)
	ps.mu.Lock()
	on, one, is := ps.poolLocked(w.id).takeSurplus(w.warm, time.Now())
	ps.mu.Unlock()
	if !is {
		return nil
	}
	if err := ps.plugs.trip.step("unassign address"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, assignTime)
	defer cancel()
	defer ps.changing(w, on.Token)()
	return ps.unassign(ctx, on.Token, one) // after an error it is learned again
}

// unassign has the provider take a set from a NIC, or the whole prefix with which it came.
func (ps *parents) unassign(ctx context.Context, token string, s givenSet) error {
	if giver, is := ps.plugs.provider.(nic.Prefixer); is && s.block.IsValid() {
		return giver.UnassignPrefix(ctx, token, s.block)
	}
	if giver, is := ps.plugs.provider.(nic.Addresser); is {
		return giver.Unassign(ctx, token, s.addrs[0].Addr())
	}
	return nil
}

// growWarm gets one more set if fewer are ready than the network wants to wait. An attach that has none may come between two of them.
func (ps *parents) growWarm(ctx context.Context, w parentNetwork) (more bool, err error) {
	defer ps.taking.Lock(w.id)()
	ps.mu.Lock()
	_, ready, _ := ps.poolLocked(w.id).counts(time.Now())
	ps.mu.Unlock()
	if ready >= w.warm || ctx.Err() != nil {
		return false, nil
	}
	return true, ps.grow(ctx, w)
}

// dropEmpty has the NICs of a network taken out that nobody uses.
func (ps *parents) dropEmpty(w parentNetwork, warm int) {
	ps.taking.mustHold(w.id)
	for {
		ps.mu.Lock()
		n, is := ps.poolLocked(w.id).takeEmpty(warm, time.Now())
		ps.mu.Unlock()
		if !is {
			return
		}
		ps.plugs.giveBack(context.Background(), n.Token, n.MAC)
	}
}

// dropAll has the NICs of a network taken out that is gone. One that was made meanwhile keeps them.
func (ps *parents) dropAll(ctx context.Context, network string) {
	defer ps.taking.Lock(network)()
	if _, is := ps.network(network); is {
		return
	}
	ps.mu.Lock()
	var all []heddle.ParentNIC
	if own := ps.pools[network]; own != nil {
		for _, n := range own.nics {
			all = append(all, n.ParentNIC)
		}
	}
	delete(ps.pools, network)
	ps.mu.Unlock()
	for _, n := range all {
		ps.plugs.giveBack(ctx, n.Token, n.MAC)
	}
}
