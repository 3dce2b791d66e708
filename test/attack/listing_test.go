package attack_test

import (
	"errors"
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/vm"
)

// listing is an attack as docs/attacks.md shows it. What the page says of its modes is
// what the tests go through.
type listing struct {
	class, name string
	modes       []string
	result, why string
}

// agentItself stands for the modes of an attack that no network is concerned in.
const agentItself = "the agent"

func (a attack) listing() listing {
	result := "prevented"
	switch {
	case a.limit != "":
		result = "limit"
	case a.certain != "":
		result = "prevented (kernel)"
	}
	return listing{a.class, a.name, strings.Fields(a.modes), result, a.limit + a.certain}
}

func (a spanAttack) listing() listing {
	result := "prevented"
	if a.certain != "" {
		result = "prevented (kernel)"
	}
	return listing{"underlay", a.name, []string{"overlay"}, result, a.certain}
}

func (a ownAttack) listing() listing {
	return listing{a.class, a.name, strings.Fields(a.modes), a.result(), a.limit + a.certain}
}

func (a recordAttack) listing() listing {
	return listing{a.class, a.name, strings.Fields(a.modes), "prevented", ""}
}

func (a doorAttack) listing() listing {
	modes := strings.Fields(a.modes)
	if len(modes) == 0 {
		modes = []string{agentItself}
	}
	return listing{a.class, a.name, modes, "prevented", ""}
}

// listings are all attacks.
func listings() []listing {
	var all []listing
	for _, a := range attacks() {
		all = append(all, a.listing())
	}
	for _, a := range spanAttacks() {
		all = append(all, a.listing())
	}
	for _, a := range ownAttacks() {
		all = append(all, a.listing())
	}
	for _, a := range recordAttacks() {
		all = append(all, a.listing())
	}
	for _, a := range doorAttacks() {
		all = append(all, a.listing())
	}
	return all
}

// tally is what a test has mounted, by name and mode.
type tally map[string]bool

func (r tally) did(name, mode string) { r[name+" in "+mode] = true }

// missing are the modes for which the attack is listed, and in which it was not
// mounted.
func (r tally) missing(l listing) []string {
	return slices.DeleteFunc(slices.Clone(l.modes), func(mode string) bool { return r[l.name+" in "+mode] })
}

// complete fails the test if there are such modes, unless this kernel does not have
// the mode: there, guests do it (TestInGuests).
func (r tally) complete(t *testing.T, l listing) {
	t.Helper()
	if strings.Contains(flag.Lookup("test.run").Value.String(), "/") || flag.Lookup("test.skip").Value.String() != "" {
		return // only some were asked for
	}
	for _, mode := range r.missing(l) {
		if hasKind(mode) {
			t.Errorf("%q is listed for %s, and was not mounted there", l.name, mode)
		}
	}
}

// hasKind reports whether the kernel has the links of a mode.
func hasKind(mode string) bool {
	if mode != isMacvlan && mode != isIPvlan {
		return true
	}
	_, err := cell.TrySh("ip link add try0 type veth peer name try1; trap 'ip link del try0' EXIT; ip link add link try0 name try2 type %s", mode)
	return err == nil
}

func TestTally(t *testing.T) {
	r := tally{}
	l := listing{name: "an attack", modes: []string{"bridge", "routed"}}
	r.did("an attack", "bridge")
	r.did("another", "routed")
	if m := r.missing(l); !slices.Equal(m, []string{"routed"}) {
		t.Errorf("missing are %v", m)
	}
}

// lacks ends a test for which this kernel has not what it needs. Guests are there for
// nothing else, and must have it.
func lacks(t *testing.T, what string) {
	t.Helper()
	if vm.InGuest() {
		t.Fatalf("the guest's kernel has no %s", what)
	}
	t.Skipf("this kernel has no %s", what)
}

// made fails a test that could not make a network, unless this kernel lacks the mode.
func made(t *testing.T, mode string, err error) {
	t.Helper()
	if errors.Is(err, heddle.NotOnKernel.Sentinel()) {
		lacks(t, mode+": "+err.Error())
	}
	cell.Must(t, err)
}
