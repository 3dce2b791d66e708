package kernel

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// TestTransactions: however many elements a plan has, also the same ones several times, they are
// made, undone and removed in a few transactions. The kernel waits for each transaction.
func TestTransactions(t *testing.T) {
	r := newRoom(t)
	gen := func() (g uint32) {
		t.Helper()
		ask := nftRequest(unix.NFT_MSG_GETGEN, unix.NLM_F_ACK, "")
		cell.Must(t, r.k.nft.get(ask, func(_ uint16, b []byte) { g = bigEndian(after(nl.SizeofNfgenmsg, b).get(unix.NFTA_GEN_ID)) }))
		return g
	}
	few := func(what string, do func()) {
		t.Helper()
		before := gen()
		do()
		if n := gen() - before; n > 20 {
			t.Errorf("%s: %d transactions", what, n)
		}
	}
	plan := heddle.Plan{Host: heddle.State{Firewall: firewall.Base()}}
	for i := range 2000 {
		pair := []string{"0x68000001", fmt.Sprintf("%#x", 0x68000002+i%500)}
		plan.Host.Elements = append(plan.Host.Elements, heddle.Element{Family: "inet", Set: "allowed", Match: pair})
	}
	last := heddle.Rule{Priority: heddle.RulePriorityFrom, Table: 100}
	plan.Host.Rules = []heddle.Rule{last}
	r.k.Tripwire = func(step string) error {
		if strings.Contains(step, last.Key()) {
			return errInjected
		}
		return nil
	}
	few("made and undone", func() {
		if _, err := r.k.Apply(plan, nil); !errors.Is(err, errInjected) {
			t.Fatal(err)
		}
	})
	r.nothingOwned()
	r.k.Tripwire = nil
	plan.Host.Rules = nil
	few("made", func() { r.apply(plan) })
	few("made again", func() {
		if made := r.apply(plan); len(made) > 0 {
			t.Errorf("made again %v", made)
		}
	})
	r.sh("nft delete element inet heddle allowed '{ 0x68000001 . 0x68000007, 0x68000001 . 0x68000107 }'")
	few("removed, of which some are gone", func() { cell.Must(t, r.k.Remove(plan, nil, nil)) })
	r.nothingOwned()
}

// TestUndoKeepsWhatOthersWant: a plan that fails removes what it has made, except what another plan
// wants by then.
func TestUndoKeepsWhatOthersWant(t *testing.T) {
	r := newRoom(t)
	others := heddle.Plan{Host: heddle.State{Firewall: firewall.Base(), Elements: []heddle.Element{{Family: "inet", Set: "allowed", Match: []string{"0x68000001", "0x68000002"}}}}}
	plan := others
	plan.Host.Links = []heddle.Link{{Name: "hb0123456789", Kind: "bridge", Alias: heddle.Mark + " test"}}
	wanted := map[string]int{}
	for _, o := range plan.Host.Objects() {
		wanted[o.Key()] = 1
	}
	r.k.Wanted = func(key string) int { return wanted[key] }
	r.k.Tripwire = func(step string) error {
		if !strings.HasPrefix(step, "raise") {
			return nil
		}
		for _, o := range others.Host.Objects() { // meanwhile
			wanted[o.Key()]++
		}
		return errInjected
	}
	if _, err := r.k.Apply(plan, nil); !errors.Is(err, errInjected) {
		t.Fatal(err)
	}
	r.k.Tripwire = nil
	r.clean(others)
	if out := r.sh("ip -br link"); strings.Contains(out, "hb0123456789") {
		t.Errorf("left: %s", out)
	}
}

// TestRemoveKeepsWhatOthersMake: an object stays if the plan being removed is the last to want it,
// and another plan makes it for itself meanwhile.
func TestRemoveKeepsWhatOthersMake(t *testing.T) {
	r := newRoom(t)
	plan := heddle.Plan{Host: heddle.State{Firewall: firewall.Base()}}
	for i := range 3 {
		plan.Host.Elements = append(plan.Host.Elements, heddle.Element{Family: "inet", Set: "allowed", Match: []string{"0x68000001", fmt.Sprintf("%#x", 0x68000002+i)}})
	}
	r.apply(plan)
	others := plan
	others.Host.Elements = plan.Host.Elements[1:2]
	made := false
	r.k.Tripwire = func(step string) error {
		if strings.HasPrefix(step, "remove element") && !made {
			made = true // like a plan that first wants the object and then sees that it is there
			r.apply(others)
		}
		return nil
	}
	cell.Must(t, r.k.Remove(plan, nil, func(key string) bool { return made && contains(others, key) }))
	r.k.Tripwire = nil
	if !made {
		t.Fatal("nothing was made meanwhile")
	}
	r.clean(others)
	cell.Must(t, r.k.Remove(others, nil, nil))
	r.nothingOwned()
}
