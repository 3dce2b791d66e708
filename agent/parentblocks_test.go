package agent

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// inBlocks runs a test of a network whose NICs get addresses by prefixes of four, two of them at most.
func inBlocks(t *testing.T, warm string, do func(t *testing.T, p *plugs, c *cloud)) {
	inParents(t, warm, func(t *testing.T, p *plugs, c *cloud) {
		c.addresses, c.block, c.slotsEach = 8, 4, 2
		do(t, p, c)
	})
}

// TestBlocks: four containers cost one call. A NIC that can have no more prefixes is followed by another one.
func TestBlocks(t *testing.T) {
	inBlocks(t, "", func(t *testing.T, p *plugs, c *cloud) {
		var all []heddle.Endpoint
		seen := map[netip.Prefix]bool{}
		for _, name := range strings.Split("abcdefgh", "") {
			e := shared(t, p, name)
			all = append(all, e)
			seen[e.Addrs[0]] = true
		}
		if got := c.said(); got != "plug, assign 1, assign 5" || len(seen) != 8 || all[0].Parent.Token != all[7].Parent.Token {
			t.Errorf("%s, addresses %v", got, seen)
		}
		look(t, p)
		if got := p.parents.text(); got != ", 1 NIC shared with 8 addresses in use, 0 ready, 0 cooling (prefixes: 2)" {
			t.Error(got)
		}
		c.addresses = 100 // it is the NIC that says that it is full
		look(t, p)
		if i := shared(t, p, "i"); c.said() != "plug, assign 1" || i.Parent.Token == all[0].Parent.Token {
			t.Errorf("%+v", i)
		}
	})
}

// TestBlockReturned: a prefix goes back as a whole, five minutes after the last of its addresses has cooled, and not while one is in use. What is left is as much as is to
// wait.
func TestBlockReturned(t *testing.T) {
	inBlocks(t, "1", func(t *testing.T, p *plugs, c *cloud) {
		all := map[string]heddle.Endpoint{}
		for _, name := range strings.Split("abcde", "") {
			all[name] = shared(t, p, name)
		}
		c.said()
		for _, name := range []string{"a", "b", "c"} { // d has the last address of the first prefix, e the first one of the second
			leaves(p, all[name])
		}
		wait := func(d time.Duration) string {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(10 * time.Second) {
				look(t, p)
			}
			return c.said()
		}
		if got := wait(coolDown + surplusTime + time.Minute); got != "" {
			t.Errorf("one of each prefix is in use: %s", got)
		}
		leaves(p, all["d"])
		if got := wait(coolDown + surplusTime - 20*time.Second); got != "" {
			t.Errorf("the prefix goes at once: %s", got)
		}
		if got := wait(time.Minute); got != "unassign 10.0.0.0/30" || len(c.cards[all["e"].Parent.Token].Further) != 4 {
			t.Errorf("%s, left are %v", got, c.cards)
		}
		leaves(p, all["e"])
		if got := wait(2*coolDown + 2*surplusTime); got != "" {
			t.Errorf("the prefix that waits is taken: %s", got)
		}
	})
}

// TestBlockFirst: of two prefixes, addresses are given of the one on which most are in use.
func TestBlockFirst(t *testing.T) {
	inBlocks(t, "", func(t *testing.T, p *plugs, c *cloud) {
		var all []heddle.Endpoint
		for _, name := range strings.Split("abcdefgh", "") {
			all = append(all, shared(t, p, name))
		}
		for _, i := range []int{0, 1, 2, 5} { // of the first prefix three leave, of the second one
			leaves(p, all[i])
		}
		time.Sleep(coolDown)
		if again := shared(t, p, "again"); again.Addrs[0] != all[5].Addrs[0] {
			t.Errorf("it has %v, of the prefix that is nearly empty", again.Addrs)
		}
	})
}

// TestBlocksAfterStart: an agent that was killed knows again which addresses go together. A prefix of which a container has an address stays; one of which nobody has any
// cools as a whole.
func TestBlocksAfterStart(t *testing.T) {
	inBlocks(t, "", func(t *testing.T, before *plugs, c *cloud) {
		a := shared(t, before, "a")
		p, _ := newPlugs(t)
		p.provider, p.kernel, p.host, p.lookout = before.provider, before.kernel, before.host, before.lookout
		withParents(p, "")
		p.records.add(record{Endpoint: a}, "")
		p.restore(a)
		c.took()
		look(t, p)
		next := shared(t, p, "next") // the other three cool
		if got := c.said(); got != "assign 5" || next.Parent.Token != a.Parent.Token {
			t.Errorf("%s: %+v", got, next)
		}
		time.Sleep(coolDown)
		for range 60 {
			look(t, p)
			time.Sleep(10 * time.Second)
		}
		if got := c.said(); got != "" {
			t.Errorf("%s, and each prefix is in use", got)
		}
		card := c.cards[a.Parent.Token]
		card.Prefixes, card.Further = card.Prefixes[1:], card.Further[4:] // somebody has taken a's prefix off
		c.cards[a.Parent.Token] = card
		if got := p.object(); !slices.Equal(got, []string{"missing plugged/" + a.Parent.Token}) {
			t.Error(got)
		}
	})
}

// TestBlockMakesRoom: when a prefix goes back, the NIC may have another one at once.
func TestBlockMakesRoom(t *testing.T) {
	own, now := &parentPool{}, time.Now()
	n := &sharedNIC{ParentNIC: heddle.ParentNIC{Token: "p-1"}, full: true}
	for _, a := range netPrefixes("10.0.0.4/24", "10.0.0.5/24") {
		n.sets = append(n.sets, givenSet{addrs: []netip.Prefix{a}, block: netip.MustParsePrefix("10.0.0.4/31")})
	}
	own.nics = append(own.nics, n)
	if _, _, is := own.takeSurplus(0, now); is || own.withRoom(9) != nil {
		t.Error("it goes at once, or the NIC is not full")
	}
	if on, s, is := own.takeSurplus(0, now.Add(surplusTime)); !is || on.Token != "p-1" || s.block.Bits() != 31 || own.withRoom(9) != n || own.blocks() != 0 {
		t.Errorf("%+v, %+v, %v, %+v", on, s, is, n)
	}
}

// TestBlockListBehind: a list that lacks the prefix of an address that is in use does not make it one that goes alone.
func TestBlockListBehind(t *testing.T) {
	inBlocks(t, "", func(t *testing.T, p *plugs, c *cloud) {
		a, b := shared(t, p, "a"), shared(t, p, "b")
		card := c.cards[a.Parent.Token]
		c.cards[a.Parent.Token] = func() (old nic.Card) { old = card; old.Further, old.Prefixes = nil, nil; return old }()
		look(t, p)
		if n := p.parents.pools["id"].find(a.Parent.Token); n.full || slices.ContainsFunc(n.sets, func(s givenSet) bool { return !s.block.IsValid() }) {
			t.Errorf("they would go alone: %+v", n.sets)
		}
		c.cards[a.Parent.Token] = card
		leaves(p, b)
		for range 60 {
			look(t, p)
			time.Sleep(10 * time.Second)
		}
		if got := c.said(); got != "plug, assign 1" {
			t.Error(got)
		}
	})
}

// TestBlockChurn: whoever comes and goes, no address is given twice, none is given while it cools, and no prefix goes of which one is in use or cools.
func TestBlockChurn(t *testing.T) {
	inBlocks(t, "2", func(t *testing.T, p *plugs, c *cloud) {
		random := rand.New(rand.NewPCG(1, 2))
		here, left := map[string]heddle.Endpoint{}, map[netip.Prefix]time.Time{}
		for i := range 400 {
			name := string(rune('a' + random.IntN(14)))
			if e, is := here[name]; is {
				leaves(p, e)
				delete(here, name)
				left[e.Addrs[0]] = time.Now()
			} else if len(here) < 12 {
				e := shared(t, p, name)
				if at, is := left[e.Addrs[0]]; is && time.Since(at) < coolDown {
					t.Errorf("%v is given while it cools", e.Addrs)
				}
				here[name] = e
			}
			time.Sleep(time.Duration(random.IntN(60+300*(i%40/39))) * time.Second)
			look(t, p)
			given := map[netip.Prefix]bool{}
			for _, e := range here {
				if given[e.Addrs[0]] || !hasSet(c.cards[e.Parent.Token], e.Addrs) {
					t.Fatalf("%v is another's, too, or is gone: %v", e.Addrs, c.cards[e.Parent.Token])
				}
				given[e.Addrs[0]] = true
			}
		}
		if said := c.took(); !strings.Contains(said, "/30") || !strings.Contains(said, "unplug") {
			t.Error("no prefix, or no NIC, has gone back")
		}
	})
}
