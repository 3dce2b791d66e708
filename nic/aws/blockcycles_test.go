package aws

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	local "github.com/heddle-network/heddle/test/cloud"
	"github.com/heddle-network/heddle/test/soak"
)

// TestBlockCycles has a NIC get and lose prefixes while the cloud misbehaves in one way after the other. Calls are cut off at any moment, as by a killed agent, and the next
// one is a new agent's. The NIC never has more prefixes than it was to have, nor a second IPv6 prefix, and keeps the one of which somebody has an address, with the same
// IPv6 address. When the cloud is well again, nothing is lost.
func TestBlockCycles(t *testing.T) {
	cycles := 4
	if soak.On() {
		cycles = 150
	}
	random := rand.New(rand.NewPCG(soak.Seed(t), 0))
	c, _, open := newBlocks(t, nil)
	var used []netip.Prefix // the set that a container has
	most, done := 0, 0      // most is how many prefixes the NIC was to have at most since it had no more than that
	four := func() (all []netip.Prefix) {
		return slices.DeleteFunc(c.Blocks("eni-local1"), func(b netip.Prefix) bool { return b.Addr().Is6() })
	}
	for range cycles {
		actions := []string{"AssignPrivateIpAddresses", "AssignIpv6Addresses", "UnassignPrivateIpAddresses"}
		f := local.Faults{Lag: time.Duration(random.IntN(400)) * time.Millisecond}
		switch action := actions[random.IntN(len(actions))]; random.IntN(5) {
		case 0:
			f.LostOf = action
		case 1:
			f.Throttled = 3
		case 2:
			f.Refuse = map[string]string{action: "UnauthorizedOperation"}
		case 3:
			f.Refuse = map[string]string{action: "IncorrectState"}
		}
		c.Set(f)
		p := open(byPrefixes(500 * time.Millisecond)) // longer than the list is behind
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(100+random.IntN(2500))*time.Millisecond)
		want := min(3, most+1)
		most = want
		card, err := p.Assign(ctx, "p-1", 16*want)
		if all := c.Blocks("eni-local1"); len(four()) > most || len(all) > len(four())+1 || len(c.Further("eni-local1")) > 0 {
			t.Errorf("it was to have %d prefixes, and has %v, %v", most, all, c.Further("eni-local1"))
		}
		if err == nil {
			done++
			if !has(card, want, 16*want) || used != nil && !slices.ContainsFunc(card.Further, func(s []netip.Prefix) bool { return slices.Equal(s, used) }) {
				t.Errorf("it was to have %d, with %v: %+v", want, used, card)
			}
			if used == nil {
				used = card.Further[random.IntN(16)]
			}
			for _, b := range card.Prefixes {
				if !b.Contains(used[0].Addr()) && random.IntN(2) == 0 && p.UnassignPrefix(ctx, "p-1", b) == nil {
					done, most = done+1, len(four())
				}
			}
		}
		cancel()
	}
	c.Set(local.Faults{})
	time.Sleep(500 * time.Millisecond) // requests whose callers are gone end
	p := open(byPrefixes(0))
	card, err := p.Assign(t.Context(), "p-1", 48)
	if err != nil || !has(card, 3, 48) || len(c.Blocks("eni-local1")) != 4 || used != nil && !slices.ContainsFunc(card.Further, func(s []netip.Prefix) bool { return slices.Equal(s, used) }) {
		t.Errorf("with %v: %+v, %v; the cloud has %v", used, card, err, c.Blocks("eni-local1"))
	}
	for _, b := range card.Prefixes {
		cell.Must(t, p.UnassignPrefix(t.Context(), "p-1", b))
	}
	if len(four()) > 0 {
		t.Errorf("left are %v", four())
	}
	t.Logf("%d calls of agents succeeded", done)
	if done < cycles/3 {
		t.Errorf("only %d calls succeeded", done)
	}
}
