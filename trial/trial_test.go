package trial

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/mode"
	"github.com/heddle-network/heddle/mode/overlay"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/vm"
)

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

// TestRun tries all modes with all families. It fails if a mode refuses its sample.
func TestRun(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, for network namespaces")
	}
	for _, m := range mode.All() {
		for _, c := range []Case{{m.Name(), true, true}, {m.Name(), true, false}, {m.Name(), false, true}} {
			t.Run(m.Name()+"/"+c.Families(), func(t *testing.T) {
				err := Run(m, c)
				if m.Name() == "ipvlan" && errors.Is(err, heddle.NotOnKernel.Sentinel()) && !vm.InGuest() {
					t.Skip(err) // the guests' have it
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestInGuests tries them under Debian's kernels.
func TestInGuests(t *testing.T) {
	soak.Turn(t, 1)
	g := vm.Guest{Small: map[string]string{"6.1": "^TestRun$/./^IPv4_and_IPv6$"}}
	g.RunEverywhere(t, "^TestRun$")
}

func TestBest(t *testing.T) {
	both := func(mode string) Case { return Case{mode, true, true} }
	modes := []string{"host", "bridge", "routed", "macvlan"}
	for _, c := range []struct {
		refused Case
		works   []Case
		best    Case
		found   bool
		advice  string
	}{
		{both("bridge"), []Case{{Mode: "host"}, both("macvlan"), both("routed")}, both("routed"), true, "mode routed works here (--mode routed)"},
		{both("bridge"), []Case{{Mode: "host"}, both("macvlan"), {"bridge", true, false}}, both("macvlan"), true, "mode macvlan works here (--mode macvlan)"},
		{both("bridge"), []Case{{Mode: "host"}, {"bridge", true, false}, {"routed", true, false}}, Case{"bridge", true, false}, true, "with IPv4 alone it works here; leave the other subnet out"},
		{both("bridge"), []Case{{Mode: "host"}, {"routed", false, true}}, Case{"routed", false, true}, true, "mode routed works here with IPv6 alone (--mode routed)"},
		{Case{"bridge", true, false}, []Case{{Mode: "host"}, {"bridge", false, true}}, Case{Mode: "host"}, true, "only mode host works here (--mode host), which isolates nothing"},
		{both("bridge"), []Case{both("other")}, Case{}, false, "no other mode works here either"}, // none of this agent's modes
	} {
		works := map[Case]bool{}
		for _, w := range c.works {
			works[w] = true
		}
		best, found := Best(c.refused, modes, func(c Case) bool { return works[c] })
		if best != c.best || found != c.found {
			t.Errorf("%+v with %v: %+v %v, want %+v %v", c.refused, c.works, best, found, c.best, c.found)
		}
		if s := Advice(c.refused, best, found); s != c.advice {
			t.Errorf("%+v with %v: %q, want %q", c.refused, c.works, s, c.advice)
		}
	}
}

// blind is mode overlay without knowledge of the peers' addresses.
type blind struct{ overlay.Mode }

func (b blind) Reach(h heddle.HostFacts) heddle.Plan {
	p := b.Mode.Reach(h)
	p.Host.Forwards = nil
	return p
}

// TestSpanSends: a trial fails if no packet gets through, even if all objects are as planned.
func TestSpanSends(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, for network namespaces")
	}
	err := Run(blind{}, Case{"overlay", true, true})
	if !errors.Is(err, heddle.NotOnKernel.Sentinel()) || !strings.Contains(err.Error(), "over IPv4") {
		t.Errorf("hosts that cannot reach each other: %v", err)
	}
	t.Log(err)
}
