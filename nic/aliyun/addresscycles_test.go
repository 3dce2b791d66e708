package aliyun

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle/nic"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/cloud"
	"github.com/heddle-network/heddle/test/soak"
)

// TestAddressCycles has NICs get and lose addresses while the cloud misbehaves in one way after the other. Calls are cut off at any moment, as by a killed
// agent, and the next one is a new agent's. No NIC gets more than it was to have, none loses one that somebody has, and no two NICs have one address. When
// the cloud is well again, all that is assigned is in a set, and can be taken off.
func TestAddressCycles(t *testing.T) {
	seed, cycles := soak.Seed(t), 6
	if soak.On() {
		cycles = 150
	}
	c, p, open := newSharing(t, func(o *cloud.Options) { o.IPv4s, o.IPv6s = 6, 6 })
	for _, token := range []string{"p-2", "p-3"} {
		_, err := p.Plug(t.Context(), order(token))
		cell.Must(t, err)
	}
	stop := make(chan struct{})
	var faults, all sync.WaitGroup
	faults.Go(func() { misbehaveAddresses(c, rand.New(rand.NewPCG(seed, 0)), stop) })
	users := []*addressUser{}
	for i := range 3 {
		u := &addressUser{t: t, c: c, open: open, random: rand.New(rand.NewPCG(seed, uint64(i+1))), token: fmt.Sprint("p-", i+1), id: fmt.Sprint("eni-local", i+1)}
		users = append(users, u)
		all.Go(func() {
			for range cycles {
				u.cycle()
			}
		})
	}
	all.Wait()
	close(stop)
	faults.Wait()
	c.Set(cloud.Faults{})
	time.Sleep(time.Second) // requests whose callers are gone end
	seen := map[netip.Addr]string{}
	done := 0
	for _, u := range users {
		p, done = open(), done+u.done
		card, err := p.Assign(t.Context(), u.token, 5)
		cell.Must(t, err)
		for _, set := range append(card.Further, card.Addrs) {
			for _, x := range set {
				if other := seen[x.Addr()]; other != "" {
					t.Errorf("%v is %s's, and %s's", x, u.token, other)
				}
				seen[x.Addr()] = u.token
			}
		}
		if len(card.Further) != 5 || len(fours(c, u.id)) != 5 || len(sixes(c, u.id)) != 5 || u.set != nil && !hasSet(card, u.set) {
			t.Errorf("%s with %v: %+v; the cloud has %v", u.token, u.set, card, c.Further(u.id))
		}
	}
	for _, u := range users {
		card, err := p.Assign(t.Context(), u.token, 5)
		cell.Must(t, err)
		for _, set := range card.Further {
			cell.Must(t, p.Unassign(t.Context(), u.token, set[0].Addr()))
		}
		if left := c.Further(u.id); len(left) > 0 {
			t.Errorf("%s: left are %v", u.token, left)
		}
	}
	t.Logf("%d calls of agents succeeded; the API was called to assign %d and %d times", done, c.Calls("AssignPrivateIpAddresses"), c.Calls("AssignIpv6Addresses"))
	if done < cycles/2 {
		t.Errorf("only %d calls succeeded", done)
	}
}

// misbehaveAddresses changes how the cloud misbehaves, until stop is closed.
func misbehaveAddresses(c *cloud.Cloud, random *rand.Rand, stop chan struct{}) {
	actions := []string{"AssignPrivateIpAddresses", "AssignIpv6Addresses", "UnassignPrivateIpAddresses", "UnassignIpv6Addresses"}
	for {
		f := cloud.Faults{Lag: time.Duration(random.IntN(400)) * time.Millisecond}
		switch action := actions[random.IntN(len(actions))]; random.IntN(6) {
		case 0:
			f.Away = true
		case 1:
			f.LostOf = action
		case 2:
			f.Throttled = 5
		case 3:
			f.Refuse = map[string]string{action: "Forbidden.RAM"}
		case 4:
			f.Refuse = map[string]string{action: "Operation.Conflict"}
		}
		c.Set(f)
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(50+random.IntN(300)) * time.Millisecond):
		}
	}
}

// addressUser is an agent, started anew for each call, with one NIC. A container has one of its sets, once there is one.
type addressUser struct {
	t         *testing.T
	c         *cloud.Cloud
	open      func() *agent
	random    *rand.Rand
	token, id string
	// most is how many sets the NIC was to have at most since it had no more than that.
	most, done int
	set        []netip.Prefix
}

// cycle asks for one more set, or takes one off that the container does not have. It is cut off at some moment, or not.
func (u *addressUser) cycle() {
	p := u.open().again(u.t, lags(500*time.Millisecond)) // longer than the list is behind
	ctx, cancel := context.WithTimeout(u.t.Context(), time.Duration(100+u.random.IntN(3000))*time.Millisecond)
	defer cancel()
	want := min(5, u.most+1)
	card, err := p.Assign(ctx, u.token, want)
	u.most = max(u.most, want)
	if n := len(fours(u.c, u.id)); n > u.most {
		u.t.Errorf("%s has %d IPv4 addresses, and was to have %d", u.token, n, u.most)
	}
	if err != nil {
		return
	}
	u.done++
	u.check(card, want)
	if u.set == nil {
		u.set = card.Further[u.random.IntN(len(card.Further))]
	}
	for _, set := range card.Further {
		if u.random.IntN(2) == 0 && !slices.Equal(set, u.set) && p.Unassign(ctx, u.token, set[u.random.IntN(2)].Addr()) == nil {
			u.done++
			if all, err := p.List(ctx); err == nil && slices.ContainsFunc(all, func(c nic.Card) bool { return c.Token == u.token && hasSet(c, set) }) {
				u.t.Errorf("%s: %v was taken off, and is told", u.token, set)
			}
			u.most = max(1, len(fours(u.c, u.id)))
		}
	}
}

func (u *addressUser) check(card nic.Card, want int) {
	if err := card.Check(u.token, "lan"); err != nil || len(card.Further) < want || u.set != nil && !hasSet(card, u.set) {
		u.t.Errorf("%s was to have %d sets, %v among them: %+v, %v", u.token, want, u.set, card, err)
	}
}
