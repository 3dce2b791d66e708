package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// slow is a provider that answers when the test says so.
type slow struct {
	*cloud
	answer    chan struct{}
	now, most atomic.Int32
}

func (s *slow) Plug(ctx context.Context, o nic.Order) (nic.Card, error) {
	s.most.Store(max(s.most.Load(), s.now.Add(1)))
	defer s.now.Add(-1)
	select {
	case <-s.answer:
	case <-ctx.Done():
		return nic.Card{}, ctx.Err()
	}
	return nic.Card{}, heddle.Errorf(heddle.NoSlot, "plug NIC", o.Token, "", "")
}

func (*slow) Unplug(context.Context, string) error { return nil }

// TestPlugTurns: requests to the provider are few at a time, however many attaches there are. Those that hang keep no NIC from being
// taken out, and who waits for a turn wants no NIC after that.
func TestPlugTurns(t *testing.T) {
	p, c := newPlugs(t)
	synctest.Test(t, func(t *testing.T) {
		s := &slow{cloud: c, answer: make(chan struct{})}
		p.provider, p.plugging, p.unplugging = s, newTurns(), newTurns()
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() { p.plug(t.Context(), nic.Order{Token: fmt.Sprint("e-", i), Network: "lan", MAC: plugMAC}) })
		}
		synctest.Wait()
		if n := s.now.Load(); n != requestsAtOnce {
			t.Errorf("%d requests at a time", n)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := p.plug(ctx, nic.Order{Token: "e-late", Network: "lan", MAC: plugMAC}); heddle.Waited.In(err) == nil || p.wants("e-late") {
			t.Error(err)
		}
		p.leave("e-old", plugMAC)
		p.takeOutDropped(t.Context(), "e-old")
		if p.leftMAC("e-old") != "" {
			t.Error("a NIC is not taken out while others are plugged in")
		}
		close(s.answer)
		all.Wait()
		if n := s.most.Load(); n != requestsAtOnce {
			t.Errorf("%d requests at a time", n)
		}
	})
}

// TestPlugChosen: a provider may choose another MAC address than the agent would like. NIC managers are told of that one, and of the other one no more.
func TestPlugChosen(t *testing.T) {
	p, c := newPlugs(t)
	c.chooses = "0a:00:00:00:00:07"
	networkd := filepath.Join(p.holds.root, "run", "systemd", "netif")
	if err := os.MkdirAll(networkd, 0o755); err != nil {
		t.Fatal(err)
	}
	kept := func() (all []string) {
		found, _ := filepath.Glob(filepath.Join(p.holds.root, "run/systemd/network/*.network"))
		for _, f := range found {
			all = append(all, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), "00-heddle-"), ".network"))
		}
		return all
	}
	req := heddle.AttachRequest{ID: heddle.EndpointID{Container: "c", IfName: "eth0"}}
	n, card, err := p.forEndpoint(t.Context(), "id", "lan", req)
	if err != nil || card.MAC != c.chooses || n.MAC != c.chooses || p.wantedMAC(card.Token) != c.chooses {
		t.Fatalf("%+v, %v", card, err)
	}
	if got := kept(); !slices.Equal(got, []string{"0a-00-00-00-00-07"}) {
		t.Errorf("managers are kept off %v", got)
	}
	p.giveBack(t.Context(), card.Token, card.MAC)
	if got := kept(); len(got) > 0 || len(c.cards) > 0 {
		t.Errorf("managers are kept off %v, NICs %v", got, c.cards)
	}
	// one that was left when the provider was away is taken out before the next one of that ID is ordered
	if _, _, err := p.forEndpoint(t.Context(), "id", "lan", req); err != nil {
		t.Fatal(err)
	}
	c.away = errors.New("away")
	p.giveBack(t.Context(), card.Token, c.chooses)
	if _, _, err := p.forEndpoint(t.Context(), "id", "lan", req); err == nil || p.leftMAC(card.Token) != c.chooses || p.wants(card.Token) {
		t.Errorf("%v; left is %q", err, p.leftMAC(card.Token))
	}
	c.away, c.chooses = nil, "0a:00:00:00:00:08"
	if _, _, err := p.forEndpoint(t.Context(), "id", "lan", req); err != nil || !slices.Equal(kept(), []string{"0a-00-00-00-00-08"}) {
		t.Errorf("%v; managers are kept off %v", err, kept())
	}
	p.giveBack(t.Context(), card.Token, c.chooses)
	req.MAC = "0a:00:00:00:00:09"
	if _, card, err := p.forEndpoint(t.Context(), "id", "lan", req); err != nil || card.MAC != req.MAC {
		t.Errorf("%+v, %v", card, err)
	}
}
