package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// withPool gives network "id" a pool of that size.
func withPool(p *plugs, warm string) {
	p.networks.put(&network{Network: heddle.Network{ID: "id", Name: "net", Mode: "direct", Options: map[string]string{"plug": "lan", "warm": warm}}})
}

// poolText is what the status tells of the pool of network "id", in short.
func (p *plugs) poolText() string {
	own := p.poolStatus("id")
	return fmt.Sprintf("%d warm, %d cooling, target %d", own.Warm, own.Cooling, own.Target)
}

// given is an endpoint on the network that has got a NIC.
func given(t *testing.T, p *plugs, container string, change func(*heddle.AttachRequest)) heddle.Endpoint {
	t.Helper()
	req := heddle.AttachRequest{ID: heddle.EndpointID{Container: container, IfName: "eth0"}}
	if change != nil {
		change(&req)
	}
	n, card, err := p.forEndpoint(t.Context(), "id", "lan", req)
	if err != nil {
		t.Fatal(err)
	}
	return heddle.Endpoint{ID: req.ID, Network: "id", NIC: &n, MAC: n.MAC, Addrs: card.Addrs, MTU: card.MTU}
}

func look(t *testing.T, p *plugs) {
	t.Helper()
	if err := errors.Join(p.tidy(t.Context()), p.keepWarm(t.Context()), p.parents.keep(t.Context())); err != nil {
		t.Error(err)
	}
}

// inPool runs a test of a pool, in a time of its own.
func inPool(t *testing.T, warm string, do func(t *testing.T, p *plugs, c *cloud)) {
	synctest.Test(t, func(t *testing.T) {
		p, c := newPlugs(t)
		withPool(p, warm)
		do(t, p, c)
	})
}

// TestPool: a network has as many NICs that wait as it wants, also those of an earlier agent, which cool first; they go with it.
func TestPool(t *testing.T) {
	inPool(t, "2-2", func(t *testing.T, p *plugs, c *cloud) {
		c.cards["w-old"] = nic.Card{Token: "w-old", Network: "lan", MAC: plugMAC, Plugged: true}
		c.cards["w-else"] = nic.Card{Token: "w-else", Network: "other", MAC: "0a:00:00:00:00:02", Plugged: true}
		c.cards["w-goes"] = nic.Card{Token: "w-goes", Network: "lan", MAC: "0a:00:00:00:00:03", Plugged: true, To: "m2"}
		look(t, p)
		if got := p.poolText(); got != "1 warm, 1 cooling, target 2" || len(c.cards) != 2 || !slices.Equal(c.renewed, []string{"nic-w-old"}) {
			t.Fatalf("%s, %v, renewed %v", got, c.cards, c.renewed)
		}
		c.took()
		if e := given(t, p, "a", nil); e.NIC.Plugged.Token == "w-old" || c.took() != "" {
			t.Errorf("%+v", e)
		}
		if len(p.soon) != 0 {
			t.Error("the pool is filled while the container begins")
		}
		time.Sleep(refillAfter)
		synctest.Wait()
		if len(p.soon) != 1 {
			t.Error("nobody looks whether another one is to be plugged in")
		}
		look(t, p)
		time.Sleep(coolDown)
		if e := given(t, p, "b", nil); e.NIC.Plugged.Token == "w-old" { // the other one waits for longer
			t.Errorf("%+v", e)
		}
		if e := given(t, p, "c", nil); e.NIC.Plugged.Token != "w-old" {
			t.Errorf("%+v", e)
		}
		if e := given(t, p, "d", func(r *heddle.AttachRequest) { r.MAC = "0a:00:00:00:00:09" }); e.MAC != "0a:00:00:00:00:09" || !strings.HasPrefix(e.NIC.Plugged.Token, "e-") {
			t.Errorf("%+v", e)
		}
		look(t, p)
		if got := p.poolText(); got != "2 warm, 0 cooling, target 2" || len(c.cards) != 6 {
			t.Errorf("%s, %v", got, c.cards)
		}
		p.networks = newRegister(newWantedObjects(), reporter{}, nil)
		look(t, p)
		if len(p.pools) != 0 || len(c.cards) != 4 || len(p.left) > 0 {
			t.Errorf("%v, %v, %v", p.pools, c.cards, p.left)
		}
	})
}

// TestPoolEmptied: the pool of a network that is deleted is empty when that is done. A NIC that is being plugged in for it goes when it has come.
func TestPoolEmptied(t *testing.T) {
	for _, meanwhile := range []bool{false, true} {
		inPool(t, "3-3", func(t *testing.T, p *plugs, c *cloud) {
			offered(t, p)
			deleted := func(string) {
				p.networks = newRegister(newWantedObjects(), reporter{}, nil)
				p.emptyPools("id")
			}
			if meanwhile {
				c.during = deleted
			}
			if err := p.keepWarm(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !meanwhile {
				if len(c.cards) != 3 {
					t.Errorf("it has %v", c.cards)
				}
				deleted("")
			}
			if len(p.pooled()) > 0 || len(c.cards) > 0 || len(p.left) > 0 || len(p.wanted) > 0 {
				t.Errorf("left are %v, %v, %v, %v", p.pooled(), c.cards, p.left, p.wanted)
			}
		})
	}
}

// TestPoolReturn: a NIC goes back into its pool without a word to the provider, as new, and is given again when it has cooled.
func TestPoolReturn(t *testing.T) {
	inPool(t, "0-2", func(t *testing.T, p *plugs, c *cloud) {
		first := given(t, p, "a", nil)
		c.took()
		managers := filepath.Join(p.holds.root, "run/NetworkManager")
		if err := errors.Join(os.MkdirAll(managers, 0o755), p.holds.keepOff(*first.NIC)); err != nil {
			t.Fatal(err)
		}
		p.drop(first)
		if text, err := os.ReadFile(filepath.Join(managers, "conf.d/00-heddle-"+strings.ReplaceAll(string(first.MAC), ":", "-")+".conf")); err != nil || strings.Contains(string(text), first.NIC.Name) {
			t.Errorf("NIC managers are told %s, %v", text, err)
		}
		p.drop(first)
		if got := p.poolText(); got != "0 warm, 1 cooling, target 1" || c.took() != "" || !p.has(first.MAC) || len(p.object()) > 0 {
			t.Fatalf("%s, %v, %v", got, p.wanted, p.object())
		}
		if !slices.Equal(c.renewed, []string{first.NIC.Name}) {
			t.Errorf("renewed: %v", c.renewed)
		}
		time.Sleep(coolDown - time.Second)
		second := given(t, p, "b", nil)
		if second.MAC == first.MAC || !strings.HasPrefix(c.took(), "plug w-") {
			t.Errorf("within the cool-down: %+v", second)
		}
		time.Sleep(time.Second)
		if again := given(t, p, "c", nil); again.MAC != first.MAC || again.NIC.Plugged.Token != first.NIC.Plugged.Token || c.took() != "" {
			t.Errorf("after the cool-down: %+v, %s", again, c.took())
		}
	})
}

// TestPoolRefuses: a NIC that is not as any other one, or that the pool has no room for, is taken out.
func TestPoolRefuses(t *testing.T) {
	for what, spoil := range map[string]func(t *testing.T, p *plugs, c *cloud, e *heddle.Endpoint){
		"full": func(t *testing.T, p *plugs, _ *cloud, _ *heddle.Endpoint) { p.drop(given(t, p, "b", nil)) },
		"its own": func(t *testing.T, p *plugs, _ *cloud, e *heddle.Endpoint) {
			*e = given(t, p, "b", func(r *heddle.AttachRequest) { r.MAC = "0a:00:00:00:00:09" })
		},
		"may move":      func(t *testing.T, _ *plugs, _ *cloud, e *heddle.Endpoint) { e.MovesTo = "m2" },
		"not let go of": func(t *testing.T, p *plugs, _ *cloud, e *heddle.Endpoint) { p.distrust(e.NIC.Plugged.Token) },
		"not as new":    func(t *testing.T, _ *plugs, c *cloud, _ *heddle.Endpoint) { c.unfit = errors.New("busy") },
		"not on the host": func(t *testing.T, _ *plugs, c *cloud, e *heddle.Endpoint) {
			c.inside = map[heddle.MAC]bool{e.MAC: true}
		},
		"no such network": func(t *testing.T, p *plugs, _ *cloud, _ *heddle.Endpoint) {
			p.networks = newRegister(newWantedObjects(), reporter{}, nil)
		},
	} {
		inPool(t, "0-1", func(t *testing.T, p *plugs, c *cloud) {
			e := given(t, p, "a", nil)
			spoil(t, p, c, &e)
			p.drop(e)
			c.unfit, c.inside = nil, nil
			look(t, p)
			if _, is := c.cards[e.NIC.Plugged.Token]; is || p.wants(e.NIC.Plugged.Token) || len(p.object()) > 0 {
				t.Errorf("%s: %v, %v", what, c.cards, p.object())
			}
		})
	}
}

// TestPoolKilled: whenever an agent was killed, the next one finds each NIC once: with its endpoint, or in the pool.
func TestPoolKilled(t *testing.T) {
	inPool(t, "0-2", func(t *testing.T, p *plugs, c *cloud) {
		kept := given(t, p, "a", nil)
		given(t, p, "b", nil) // and the agent was killed before it was recorded
		next, _ := newPlugs(t)
		next.provider, next.kernel, next.host = c, c, &hostView{kernel: c}
		next.lookout = newLookout(next.host)
		pruned := 0
		next.looked, next.prune = false, func() { pruned++ }
		withPool(next, "0-2")
		next.restore(kept)
		c.cards["w-third"] = nic.Card{Token: "w-third", Network: "lan", MAC: "0a:00:00:00:00:03", Plugged: true}
		c.during = func(string) {
			if got := next.object(); len(got) > 0 {
				t.Errorf("while they are made as new: %v", got)
			}
		}
		if got := next.object(); len(got) > 0 || !next.unsure() {
			t.Errorf("before the first look: %v", got)
		}
		look(t, next)
		if got := next.poolText(); got != "0 warm, 2 cooling, target 0" || next.unsure() || pruned != 1 {
			t.Errorf("%s; unsure: %v, pruned %d times", got, next.unsure(), pruned)
		}
		delete(c.cards, "w-third")
		look(t, next)
		if got := next.poolText(); got != "0 warm, 1 cooling, target 0" || len(c.cards) != 2 || len(next.object()) > 0 {
			t.Errorf("%s, %v, %v", got, c.cards, next.object())
		}
		c.cards["w-unfit"] = nic.Card{Token: "w-unfit", Network: "lan", MAC: plugMAC, Plugged: true}
		c.unfit = errors.New("busy")
		look(t, next)
		if got := next.poolText(); got != "0 warm, 1 cooling, target 0" || len(c.cards) != 2 || len(next.object()) > 0 {
			t.Errorf("one is not as new: %s, %v, %v", got, c.cards, next.object())
		}
		if _, is := next.adopt(c.cards[kept.NIC.Plugged.Token]); is {
			t.Error("an endpoint's NIC is in the pool")
		}
		time.Sleep(coolDown)
		if e := given(t, next, "c", nil); e.MAC == kept.MAC {
			t.Error("a NIC is given twice")
		}
	})
}

// TestPoolAway: while the provider does not answer, or answers with errors, the pool serves and takes back. What cools serves later.
func TestPoolAway(t *testing.T) {
	for what, x := range map[string]struct {
		begin, end func(c *cloud)
	}{
		"hangs":   {func(c *cloud) { c.hangs = true }, func(c *cloud) { c.hangs = false }},
		"refuses": {func(c *cloud) { c.away = errors.New("away") }, func(c *cloud) { c.away = nil }},
	} {
		inPool(t, "2-2", func(t *testing.T, p *plugs, c *cloud) {
			look(t, p)
			x.begin(c)
			if err := p.tidy(t.Context()); err == nil {
				t.Error("the provider is away, and nothing is said")
			}
			start := time.Now()
			a, b := given(t, p, "a", nil), given(t, p, "b", nil)
			p.drop(a)
			time.Sleep(time.Second)
			p.drop(b)
			if took := time.Since(start); took != time.Second || a.MAC == b.MAC || len(p.left) > 0 {
				t.Errorf("%s: two attaches and detaches took %v, left %v", what, took, p.left)
			}
			if got := p.poolText(); got != "0 warm, 2 cooling, target 2" {
				t.Errorf("%s: %s", what, got)
			}
			again := given(t, p, "c", nil)
			if took := time.Since(start); again.MAC != a.MAC || took != coolDown {
				t.Errorf("%s: an attach of one that cooled ended after %v", what, took)
			}
			req := heddle.AttachRequest{ID: heddle.EndpointID{Container: "d", IfName: "eth0"}, MAC: "0a:00:00:00:00:09"}
			if _, _, err := p.forEndpoint(t.Context(), "id", "lan", req); err == nil {
				t.Errorf("%s: a NIC of its own was plugged in", what)
			}
			x.end(c)
			look(t, p)
			if len(c.cards) != 3 || len(p.left) > 0 || len(p.object()) > 0 {
				t.Errorf("%s: afterwards %v, %v, %v", what, c.cards, p.left, p.object())
			}
		})
	}
}

// TestPoolQuota: a pool orders no NIC that the provider would refuse, and makes room for an attach that needs one.
func TestPoolQuota(t *testing.T) {
	inPool(t, "4-4", func(t *testing.T, p *plugs, c *cloud) {
		c.slots = 3
		look(t, p)
		if got := c.took(); strings.Count(got, "plug w-") != 3 || p.poolText() != "3 warm, 0 cooling, target 4" {
			t.Errorf("%s; %s", got, p.poolText())
		}
		p.drop(given(t, p, "a", nil))
		own := given(t, p, "b", func(r *heddle.AttachRequest) { r.MAC = "0a:00:00:00:00:09" })
		if own.MAC != "0a:00:00:00:00:09" || len(c.cards) != 3 || p.poolText() != "2 warm, 0 cooling, target 4" { // the one that cooled went
			t.Errorf("%v, %s", c.cards, p.poolText())
		}
		req := heddle.AttachRequest{ID: heddle.EndpointID{Container: "e", IfName: "eth0"}}
		c.slots = 4
		if _, _, err := p.forEndpoint(t.Context(), "other", "barred", req); heddle.NICNotGranted.In(err) == nil || p.poolText() != "2 warm, 0 cooling, target 4" {
			t.Errorf("on a network that is not granted: %v, %s", err, p.poolText())
		}
		c.slots = 3
		for _, name := range []string{"c", "d"} {
			given(t, p, name, nil)
		}
		c.took()
		if _, _, err := p.forEndpoint(t.Context(), "id", "lan", req); heddle.NoSlot.In(err) == nil || len(c.cards) != 3 {
			t.Errorf("a fourth one: %v", err)
		}
		look(t, p)
		if got := c.took(); strings.Count(got, ", plug w-") > 0 { // the first one was the attach's
			t.Error("the pool orders what is refused: ", got)
		}
	})
}

// TestPoolReserves: what is under way takes its place already.
func TestPoolReserves(t *testing.T) {
	inPool(t, "1-1", func(t *testing.T, p *plugs, c *cloud) {
		a, b := given(t, p, "a", nil), given(t, p, "b", nil)
		c.during = func(string) {
			if p.drop(b); p.wants(b.NIC.Plugged.Token) || len(p.object()) != 1 { // b's, which is to be taken out
				t.Errorf("while one is made as new: %v", p.object())
			}
		}
		p.drop(a)
		look(t, p)
		if got := p.poolText(); got != "0 warm, 1 cooling, target 1" || len(c.cards) != 1 {
			t.Errorf("%s, %v", got, c.cards)
		}
	})
	inPool(t, "1-2", func(t *testing.T, p *plugs, c *cloud) {
		c.slots = 2
		look(t, p)
		given(t, p, "a", nil)
		c.during = func(string) {
			c.during = func(what string) { t.Error("while an attach orders the last NIC: ", what) }
			if err := p.keepWarm(t.Context()); err != nil {
				t.Error(err)
			}
			c.during = nil
		}
		given(t, p, "b", func(r *heddle.AttachRequest) { r.MAC = "0a:00:00:00:00:09" })
	})
	inPool(t, "1-2", func(t *testing.T, p *plugs, c *cloud) { // amazon-vpc-cni-k8s, issue 2896
		p.drop(given(t, p, "a", nil))
		look(t, p)
		if got := p.poolText(); got != "1 warm, 1 cooling, target 1" {
			t.Errorf("one that cools counts as ready: %s", got)
		}
	})
}

// TestPoolAbove: the five minutes begin anew when the pool has not had too many meanwhile.
func TestPoolAbove(t *testing.T) {
	start := time.Now()
	p := &nicPool{most: 4, nics: []waitingNIC{{from: start}}}
	for _, x := range []struct {
		after  time.Duration
		needed bool
		taken  bool
	}{{after: 0}, {after: 4 * time.Minute}, {after: 299 * time.Second, needed: true}, {after: 6 * time.Minute}, {after: 660*time.Second - 1}, {after: 660 * time.Second, taken: true}} {
		p.least = 0
		if x.needed {
			p.least = 1
		}
		if _, taken := p.takeIdle(start.Add(x.after)); taken != x.taken {
			t.Errorf("after %v: taken: %v", x.after, taken)
		}
	}
}

// TestPoolIdle: a pool grows by what is taken, and shrinks five minutes after it is not needed any more, NIC by NIC.
func TestPoolIdle(t *testing.T) {
	inPool(t, "1-4", func(t *testing.T, p *plugs, c *cloud) {
		look(t, p)
		for _, name := range []string{"a", "b", "c"} {
			given(t, p, name, nil)
		}
		look(t, p)
		if got := p.poolText(); got != "3 warm, 0 cooling, target 3" {
			t.Fatal(got)
		}
		seen := []string{}
		for start := time.Now(); time.Since(start) < 20*time.Minute; time.Sleep(plugsEvery) {
			look(t, p)
			if got := fmt.Sprint(p.poolStatus("id").Warm, " after ", time.Since(start)); len(seen) == 0 || got[:1] != seen[len(seen)-1][:1] {
				seen = append(seen, got)
			}
		}
		if want := []string{"3 after 0s", "2 after 15m10s", "1 after 15m20s"}; !slices.Equal(seen, want) || len(c.cards) != 4 {
			t.Errorf("%v; %v", seen, c.cards)
		}
	})
}

// TestPoolLost: a NIC of the pool that somebody has taken out, or moved away, is not given, and another one takes its place.
func TestPoolLost(t *testing.T) {
	for what, take := range map[string]func(c *cloud, token string){
		"unplugged": func(c *cloud, token string) { delete(c.cards, token) },
		"to move": func(c *cloud, token string) {
			c.cards[token] = nic.Card{Token: token, Network: "lan", MAC: c.cards[token].MAC, Plugged: true, To: "m2"}
		},
		"moved away": func(c *cloud, token string) { c.inside = map[heddle.MAC]bool{c.cards[token].MAC: true} },
	} {
		inPool(t, "1-1", func(t *testing.T, p *plugs, c *cloud) {
			look(t, p)
			lost := p.pools["id"].nics[0].Token
			take(c, lost)
			look(t, p)
			if got := p.poolText(); got != "1 warm, 0 cooling, target 1" || p.pools["id"].has(lost) || len(c.cards) != 1 || len(p.left) > 0 {
				t.Errorf("%s: %s, %v, %v", what, got, c.cards, p.left)
			}
		})
	}
}

// TestPlugLeak: a NIC that the machine has still, though the provider says that it is out, is named and tried again.
func TestPlugLeak(t *testing.T) {
	p, c := newPlugs(t)
	if _, card, err := p.plug(t.Context(), nic.Order{Token: "e-1", Network: "lan", MAC: plugMAC}); err != nil {
		t.Fatal(err)
	} else {
		c.stuck = []nic.Card{card}
	}
	p.giveBack(t.Context(), "e-1", plugMAC)
	if got := p.object(); !slices.Equal(got, []string{"leftover plugged/e-1"}) || len(c.cards) > 0 {
		t.Errorf("%v, %v", got, c.cards)
	}
	c.stuck = nil
	look(t, p)
	if got := p.object(); len(got) > 0 || p.has(plugMAC) {
		t.Error(got)
	}
}

// TestPoolLimits: a NIC goes back into its pool when what its endpoint was limited to has ended, whatever the provider allows, and not otherwise; and no
// NIC that is found to be limited stays there. The provider is asked no more than that needs.
func TestPoolLimits(t *testing.T) {
	inPool(t, "1-2", func(t *testing.T, p *plugs, c *cloud) {
		asked := heddle.RateLimits{In: heddle.RateLimit{Rate: 10e6, Burst: 64e3}}
		c.most = heddle.RateLimits{Out: heddle.RateLimit{Rate: 1e9, Burst: 1e6}}
		limit := func(container string) heddle.Endpoint {
			e := given(t, p, container, nil)
			card, err := p.limitGiven(t.Context(), c.cards[e.NIC.Plugged.Token], heddle.AttachRequest{ID: e.ID, Limits: asked})
			if err != nil || card.Limits != asked.Within(c.most) {
				t.Fatal(card, err)
			}
			e.Limits, e.LimitsAsked = card.Limits, card.Asked
			return e
		}
		look(t, p)
		e := limit("a")
		token := e.NIC.Plugged.Token
		c.took()
		p.drop(e)
		if got := c.took(); got != "limit "+token || !c.cards[token].Asked.IsZero() || c.cards[token].Limits != c.most {
			t.Errorf("%s, %+v", got, c.cards[token])
		}
		time.Sleep(coolDown)
		e = given(t, p, "b", nil)
		c.took()
		p.drop(e)
		if got := c.took(); got != "" {
			t.Error("asked without need: ", got)
		}
		time.Sleep(coolDown)
		e = limit("c")
		c.away = errors.New("away")
		p.drop(e)
		if _, _, is := p.takeWarm(warmNetwork{id: "id", most: 2}); is || p.leftMAC(e.NIC.Plugged.Token) == "" {
			t.Error("a NIC that is still limited waits")
		}
		c.away = nil
		look(t, p)
		time.Sleep(coolDown)
		look(t, p)
		for token, card := range c.cards { // an agent that was killed had asked
			card.Asked = asked
			c.cards[token] = card
		}
		before := len(c.cards)
		look(t, p)
		for token, card := range c.cards {
			if before != 1 || !card.Asked.IsZero() {
				t.Errorf("%s stays: %+v", token, card)
			}
		}
		if c.away = errors.New("away"); true {
			e := given(t, p, "d", nil)
			if _, err := p.limitGiven(t.Context(), c.cards[e.NIC.Plugged.Token], heddle.AttachRequest{ID: e.ID, Limits: asked}); err == nil {
				t.Error("limited by nobody")
			}
			p.drop(e)
			if p.leftMAC(e.NIC.Plugged.Token) == "" {
				t.Error("a NIC that may be limited goes back")
			}
		}
	})
}

// TestLimitsKept: endpoints whose NICs have other limits than recorded are found. One that another machine has is left alone.
func TestLimitsKept(t *testing.T) {
	p, c := newPlugs(t)
	limits := heddle.RateLimits{In: heddle.RateLimit{Rate: 10e6, Burst: 64e3}}
	for name, card := range map[string]nic.Card{"fine": {Asked: limits, Limits: limits}, "asked": {Limits: limits}, "less": {Asked: limits}, "away": {Taken: true}} {
		card.Token, card.Network, card.MAC, card.Plugged = name, "lan", plugMAC, true
		c.cards[name] = card
		p.records.put(record{Endpoint: heddle.Endpoint{ID: heddle.EndpointID{Container: name, IfName: "eth0"}, Limits: limits, NIC: &heddle.NIC{Plugged: &heddle.PluggedNIC{Token: name}}},
			Request: heddle.AttachRequest{Limits: limits}})
	}
	all, err := p.list(t.Context())
	if err == nil {
		err = p.keepLimits(t.Context(), all)
	}
	slices.Sort(c.relimited)
	if err != nil || !slices.Equal(c.relimited, []string{"asked", "less"}) {
		t.Error(c.relimited, err)
	}
}
