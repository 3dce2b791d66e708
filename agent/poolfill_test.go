package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-network/heddle/nic"
)

// offered asks the provider what it can give.
func offered(t *testing.T, p *plugs) {
	t.Helper()
	if _, err := p.list(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestPoolFilled: pools are filled after each look. What does not succeed is ordered less and less often, however often it is looked, and
// told once.
func TestPoolFilled(t *testing.T) {
	inPool(t, "2-2", func(t *testing.T, p *plugs, c *cloud) {
		offered(t, p)
		fill := func(seconds int) {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				p.keepPools(ctx)
			}()
			for range seconds {
				signal(p.fill)
				time.Sleep(time.Second)
			}
			cancel()
			<-ended
		}
		c.away = errors.New("broken")
		fill(120)
		asked := c.took()
		if orders := strings.Count(asked, "plug w-") - strings.Count(asked, "unplug w-"); orders < 10 || orders > 20 {
			t.Errorf("%d orders in two minutes", orders)
		}
		c.away = nil
		fill(1)
		if got := p.poolText(); got != "2 warm, 0 cooling, target 2" {
			t.Error(got)
		}
	})
}

// TestPoolLook: a look that began before a NIC was plugged in for a pool does not take it out.
func TestPoolLook(t *testing.T) {
	inPool(t, "1-1", func(t *testing.T, p *plugs, c *cloud) {
		offered(t, p)
		before := p.pooled()
		all := []nic.Card{}
		if err := p.keepWarm(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, card := range c.cards {
			card.Plugged = false // as the provider said while it was being plugged in
			all = append(all, card)
		}
		if err := p.dropLost(all, before); err != nil {
			t.Error(err)
		}
		if got := p.poolText(); got != "1 warm, 0 cooling, target 1" {
			t.Error(got)
		}
		if err := p.dropLost(all, p.pooled()); err != nil {
			t.Error(err)
		}
		if got := p.poolText(); got != "0 warm, 0 cooling, target 1" {
			t.Error("one that is lost stays: ", got)
		}
	})
}

// TestPlugsFail: a look that fails is not repeated at once, whoever asks for it.
func TestPlugsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, c := newPlugs(t)
		looks := 0
		c.listed = func() { looks++ }
		c.away = errors.New("away")
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		go func() {
			for ctx.Err() == nil {
				signal(p.soon)
				time.Sleep(time.Second)
			}
		}()
		p.follow(ctx)
		if looks < 10 || looks > 20 {
			t.Errorf("%d looks in two minutes", looks)
		}
		time.Sleep(time.Second)
	})
}
