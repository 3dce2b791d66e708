package agent

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// inParents runs a test of a network whose endpoints share NICs of two addresses each, in a time of its own.
func inParents(t *testing.T, warm string, do func(t *testing.T, p *plugs, c *cloud)) {
	synctest.Test(t, func(t *testing.T) {
		p, c := newPlugs(t)
		c.addresses = 2
		withParents(p, warm)
		do(t, p, c)
	})
}

func withParents(p *plugs, warm string) {
	p.networks.put(&network{Network: heddle.Network{ID: "id", Name: "net", Mode: "shares", Options: map[string]string{"plug": "lan", "warm": warm}}})
}

func containerID(name string) heddle.EndpointID {
	return heddle.EndpointID{Container: name, IfName: "eth0"}
}

// shared is an endpoint that has got an address of a NIC, and is recorded.
func shared(t *testing.T, p *plugs, name string) heddle.Endpoint {
	t.Helper()
	w, _ := p.parents.network("id")
	on, addrs, err := p.parents.take(t.Context(), w, containerID(name))
	if err != nil {
		t.Fatal(err)
	}
	e := heddle.Endpoint{ID: containerID(name), Network: "id", Parent: &on, MAC: on.MAC, Addrs: addrs}
	p.records.add(record{Endpoint: e}, "")
	return e
}

// leaves ends an endpoint.
func leaves(p *plugs, e heddle.Endpoint) {
	r, _ := p.records.get(e.ID)
	p.records.remove(r)
	p.parents.give("id", e.ID)
}

// said are the calls, without the tokens, which are random.
func (c *cloud) said() string {
	all := strings.Split(c.took(), ", ")
	for i, s := range all {
		if verb, token, is := strings.Cut(s, " "); is && strings.HasPrefix(token, parentToken) {
			all[i] = verb
		}
	}
	return strings.Join(all, ", ")
}

// TestParents: a NIC gets an address for each endpoint, and another one is plugged in when it is full. An address cools before it is given
// again, and a NIC that nobody uses is taken out.
func TestParents(t *testing.T) {
	inParents(t, "", func(t *testing.T, p *plugs, c *cloud) {
		a, b := shared(t, p, "a"), shared(t, p, "b")
		if got := c.said(); got != "plug, assign 1, assign 2" || a.Parent.Token != b.Parent.Token || a.Addrs[0] == b.Addrs[0] {
			t.Errorf("%s: %+v, %+v", got, a, b)
		}
		if !slices.Equal(a.Parent.Closed, c.cards[a.Parent.Token].Closed) || len(a.Parent.Closed) != 1 {
			t.Errorf("the NIC must not lead to what is closed: %+v", a.Parent)
		}
		if again := shared(t, p, "b"); again.Addrs[0] != b.Addrs[0] || c.said() != "" {
			t.Errorf("an attach that is tried again: %+v", again)
		}
		d := shared(t, p, "d")
		if got := c.said(); got != "plug, assign 1" || d.Parent.Token == a.Parent.Token {
			t.Errorf("%s: %+v", got, d)
		}
		leaves(p, a)
		e := shared(t, p, "e")
		if got := c.said(); got != "assign 2" || e.Parent.Token != d.Parent.Token {
			t.Errorf("the address is given again at once: %s, %+v", got, e)
		}
		look(t, p)
		time.Sleep(coolDown)
		if f := shared(t, p, "f"); f.Addrs[0] != a.Addrs[0] || c.said() != "" {
			t.Errorf("the address is not given again: %+v", f)
		}
		if got := p.object(); len(got) > 0 {
			t.Error(got)
		}
		leaves(p, d)
		leaves(p, e)
		look(t, p)
		if len(c.cards) != 2 || c.said() != "" {
			t.Error("a NIC is taken out before its addresses have cooled")
		}
		time.Sleep(coolDown)
		look(t, p)
		if got := c.said(); got != "unplug" || len(c.cards) != 1 || p.wants(d.Parent.Token) {
			t.Errorf("%s, %v", got, c.cards)
		}
	})
}

// TestParentsAfterStart: an agent that was killed knows which addresses endpoints have. Others of their NICs cool first, and NICs that no endpoint has are
// taken out.
func TestParentsAfterStart(t *testing.T) {
	inParents(t, "", func(t *testing.T, before *plugs, c *cloud) {
		a, b, d := shared(t, before, "a"), shared(t, before, "b"), shared(t, before, "d")
		p, _ := newPlugs(t)
		p.provider, p.kernel, p.host, p.lookout = before.provider, before.kernel, before.host, before.lookout
		withParents(p, "")
		p.records.add(record{Endpoint: a}, "")
		p.restore(a)
		c.took()
		next := shared(t, p, "next") // b's address cools, and its NIC is full
		if got := c.said(); got != "plug, assign 1" || next.Addrs[0] == b.Addrs[0] || next.Parent.Token == d.Parent.Token {
			t.Errorf("%s: %+v", got, next)
		}
		look(t, p)
		if got := c.said(); got != "unplug" || c.cards[d.Parent.Token].Plugged || len(c.cards) != 2 {
			t.Errorf("%s, %v", got, c.cards)
		}
		time.Sleep(coolDown)
		if again := shared(t, p, "again"); again.Addrs[0] != b.Addrs[0] {
			t.Errorf("%+v, and %v is free", again, b.Addrs)
		}
		card := c.cards[a.Parent.Token]
		card.Further = card.Further[1:] // somebody has taken a's address away
		c.cards[a.Parent.Token] = card
		if got := p.object(); !slices.Equal(got, []string{"missing plugged/" + a.Parent.Token}) {
			t.Error(got)
		}
	})
}

// TestParentsFail: nothing is left of a NIC that gets no address, and the next attach is whole.
func TestParentsFail(t *testing.T) {
	inParents(t, "", func(t *testing.T, p *plugs, c *cloud) {
		w, _ := p.parents.network("id")
		c.during = func(what string) {
			if strings.HasPrefix(what, "plug") {
				c.during = func(string) { c.away = errors.New("away") }
			}
		}
		if _, _, err := p.parents.take(t.Context(), w, containerID("a")); err == nil {
			t.Error("it has an address of a provider that is away")
		}
		c.away, c.calls = nil, nil
		look(t, p)
		if len(c.cards) > 0 || len(p.object()) > 0 {
			t.Errorf("%v, %v", c.cards, p.object())
		}
		shared(t, p, "a")
		c.addresses, c.slots = 0, 1
		look(t, p) // which tells of it
		if _, _, err := p.parents.take(t.Context(), w, containerID("b")); heddle.BadOption.In(err) == nil {
			t.Errorf("a provider with one address a NIC: %v", err)
		}
		c.addresses = 1
		look(t, p)
		if _, _, err := p.parents.take(t.Context(), w, containerID("b")); heddle.NoSlot.In(err) == nil {
			t.Errorf("a machine without a slot: %v", err)
		}
	})
}

// TestParentsWarm: as many addresses wait as the network wants. What is above that for five minutes is given back, and all goes with the network. A NIC
// that the host does not have any more is given to nobody.
func TestParentsWarm(t *testing.T) {
	inParents(t, "1", func(t *testing.T, p *plugs, c *cloud) {
		look(t, p)
		if got := c.said(); got != "plug, assign 1" {
			t.Error(got)
		}
		a := shared(t, p, "a")
		if got := c.said(); got != "" {
			t.Error("an attach waits for the provider: ", got)
		}
		look(t, p)
		if got := c.said(); got != "assign 2" {
			t.Error(got)
		}
		b := shared(t, p, "b")
		look(t, p)
		c.said()
		leaves(p, b)
		time.Sleep(coolDown)
		look(t, p) // b's address and the one of the second NIC are ready, and one is to be
		if got := c.said(); got != "unplug" {
			t.Error(got)
		}
		c.addresses = 3
		look(t, p)
		d := shared(t, p, "d")
		look(t, p)
		leaves(p, d)
		time.Sleep(coolDown)
		look(t, p)
		c.said()
		time.Sleep(surplusTime)
		look(t, p)
		if got := c.said(); !strings.HasPrefix(got, "unassign 10.0.0.") || len(c.cards) != 1 || len(c.cards[a.Parent.Token].Further) != 2 {
			t.Errorf("%s, %v", got, c.cards)
		}
		c.inside = map[heddle.MAC]bool{a.MAC: true} // the host does not have it
		look(t, p)
		if e := shared(t, p, "e"); e.Parent.Token == a.Parent.Token {
			t.Errorf("%+v is on a NIC that is gone", e)
		}
		c.inside = nil
		p.networks.put(&network{Network: heddle.Network{ID: "id", Name: "net", Mode: "shares"}})
		look(t, p)
		if len(c.cards) > 0 {
			t.Errorf("left %v", c.cards)
		}
	})
}

// TestLearn: a list that is behind takes no address from an endpoint.
func TestLearn(t *testing.T) {
	p := &parentPool{}
	p.note(heddle.Endpoint{ID: containerID("a"), Parent: &heddle.ParentNIC{Token: "p-1"}, Addrs: netPrefixes("10.0.0.1/24", "fd00::1/64")})
	n := p.find("p-1")
	n.learn(nic.Card{}, time.Time{})
	if len(n.sets) != 1 {
		t.Error("it is forgotten")
	}
	c := nic.Card{Further: [][]netip.Prefix{netPrefixes("fd00::1/64", "10.0.0.1/24"), netPrefixes("10.0.0.2/24", "fd00::2/64")}}
	n.learn(c, time.Time{})
	n.learn(c, time.Time{})
	if used, ready, _ := p.counts(time.Now()); used != 1 || ready != 1 || !hasSet(c, netPrefixes("10.0.0.1/24", "fd00::1/64")) || hasSet(c, netPrefixes("10.0.0.1/24", "fd00::2/64")) {
		t.Errorf("%+v", n.sets)
	}
}

func netPrefixes(all ...string) (p []netip.Prefix) {
	for _, s := range all {
		p = append(p, netip.MustParsePrefix(s))
	}
	return p
}

// TestParentsSubnets: an endpoint gets one address of each subnet, all of them from the provider. A network that names other subnets is told so.
func TestParentsSubnets(t *testing.T) {
	inParents(t, "", func(t *testing.T, p *plugs, c *cloud) {
		w, _ := p.parents.network("id")
		a := &Agent{plugs: p, opt: Options{NICs: c}}
		for _, x := range []struct {
			subnets []netip.Prefix
			fits    bool
		}{{netPrefixes("10.0.0.0/24", "fd00::/64"), false}, {netPrefixes("10.0.0.0/16"), false}, {netPrefixes("fd00::/64"), false}, {netPrefixes("10.0.0.0/24"), true}} {
			e := heddle.Endpoint{}
			n := &network{Network: heddle.Network{ID: "id", Name: "net", Subnets: x.subnets}}
			_, req, err := a.claimParent(t.Context(), w, n, heddle.AttachRequest{ID: containerID("a")}, &e)
			used, _, _ := p.parents.pools["id"].counts(time.Now())
			switch {
			case x.fits && (err != nil || used != 1 || len(req.IPs) != 1 || e.Parent == nil):
				t.Errorf("in %v it has %v, of %d in use: %v", x.subnets, req.IPs, used, err)
			case !x.fits && (heddle.OutsidePool.In(err) == nil || used != 0 || !strings.HasSuffix(heddle.RemedyOf(err), " --subnet 10.0.0.0/24")):
				t.Errorf("in %v, with %d in use: %v", x.subnets, used, err)
			}
		}
	})
}
