package agent

import (
	"errors"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// on calls do while the provider works at something that begins with the text.
func (c *cloud) on(text string, do func()) {
	var next func(what string)
	next = func(what string) {
		if strings.HasPrefix(what, text) {
			do()
		} else {
			c.during = next
		}
	}
	c.during = next
}

// TestParentsNewNetwork: while a network's addresses are made ready, another one is made, and an endpoint attached to it. Its NIC stays.
func TestParentsNewNetwork(t *testing.T) {
	inParents(t, "1", func(t *testing.T, p *plugs, c *cloud) {
		token := ""
		c.on("assign", func() {
			p.networks.put(&network{Network: heddle.Network{ID: "new", Name: "new", Mode: "shares", Options: map[string]string{"plug": "lan"}}})
			w, _ := p.parents.network("new")
			on, _, err := p.parents.take(t.Context(), w, containerID("a"))
			if err != nil {
				t.Error(err)
			}
			token = on.Token
		})
		look(t, p)
		if token == "" || !c.cards[token].Plugged || strings.Contains(c.said(), "unplug") {
			t.Errorf("the NIC in use is taken out: %v", c.cards)
		}
	})
}

// TestParentsFailWarm: a NIC that gets no address goes alone. The others stay, with the addresses that wait.
func TestParentsFailWarm(t *testing.T) {
	inParents(t, "3", func(t *testing.T, p *plugs, c *cloud) {
		refused := func() {
			c.on("plug", func() { c.on("assign", func() { c.away = errors.New("no address is left") }) })
		}
		c.on("assign 2", refused)
		if err := p.parents.keep(t.Context()); err == nil {
			t.Error("three addresses are ready")
		}
		own := p.parents.pools["id"]
		if len(own.nics) != 1 || len(own.nics[0].sets) != 2 {
			t.Errorf("left are %+v", own.nics)
		}
		c.away = nil
		if _, err := p.collect(t.Context()); err != nil || len(c.cards) != 1 {
			t.Errorf("%v, %v", c.cards, err)
		}
	})
}

// TestParentsReady: an attach takes an address that is ready while another one waits for the provider.
func TestParentsReady(t *testing.T) {
	inParents(t, "1", func(t *testing.T, p *plugs, c *cloud) {
		look(t, p)
		defer p.parents.taking.Lock("id")()
		if shared(t, p, "a"); c.said() != "plug, assign 1" {
			t.Error("it has asked the provider")
		}
	})
}

// TestParentsListBehind: what the provider has listed before an address came says nothing about it. It cools when its container has gone, and one
// that was taken from the NIC does not come back.
func TestParentsListBehind(t *testing.T) {
	inParents(t, "", func(t *testing.T, p *plugs, c *cloud) {
		shared(t, p, "a")
		stray := func(do func()) {
			c.cards["e-stray"] = nic.Card{Token: "e-stray", Network: "lan", MAC: plugMAC, Plugged: true}
			c.on("unplug e-stray", do)
			if err := p.tidy(t.Context()); err != nil {
				t.Error(err)
			}
		}
		var b heddle.Endpoint
		stray(func() {
			b = shared(t, p, "b")
			leaves(p, b)
		})
		if next := shared(t, p, "next"); next.Addrs[0] == b.Addrs[0] {
			t.Errorf("%v is given again at once", b.Addrs)
		}
		w, _ := p.parents.network("id")
		n := p.parents.pools["id"].find(b.Parent.Token)
		stray(func() {
			end := p.parents.changing(w, b.Parent.Token)
			n.sets = n.sets[:1]
			if err := c.Unassign(t.Context(), b.Parent.Token, b.Addrs[0].Addr()); err != nil {
				t.Error(err)
			}
			end()
		})
		if len(n.sets) != 1 {
			t.Errorf("it has %+v, and the provider has taken one from it", n.sets)
		}
	})
}
