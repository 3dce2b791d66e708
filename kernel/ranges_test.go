package kernel

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

// origin lets one peer send from the given source.
func origin(peer, from string) heddle.Element {
	return heddle.Element{Family: "inet", Set: "origins44", Match: []string{peer, from}}
}

// members lists what a set holds, in text.
func (r *room) members(family, set string) []string {
	r.t.Helper()
	live, err := r.k.listNft.elements(family, set)
	cell.Must(r.t, err)
	var all []string
	for _, e := range live {
		all = append(all, strings.Join(e.Match, " "))
	}
	slices.Sort(all)
	return all
}

// An element that overlaps others replaces them, and they come back if the call fails. A missing
// element is not mistaken for a wider one that contains it.
func TestRangesOverlap(t *testing.T) {
	r := newRoom(t)
	base := tunnelPlan(0, 0)
	plan := func(all ...heddle.Element) heddle.Plan {
		s := base
		s.Links, s.Addresses, s.Elements = nil, nil, all
		return heddle.Plan{Host: s}
	}
	holds := func(want ...string) {
		t.Helper()
		if d := cmp.Diff(want, r.members("inet", "origins44")); d != "" {
			t.Error(d)
		}
	}
	narrow := plan(origin("192.0.2.1", "10.20.0.70"), origin("192.0.2.1", "10.20.0.96/27"), origin("192.0.2.2", "10.20.0.64/26"))
	wide := plan(origin("192.0.2.1", "10.20.0.64/26"))
	r.apply(narrow)
	r.clean(narrow)
	r.k.Tripwire = func(step string) error {
		if strings.Contains(step, "set/x") {
			return errInjected
		}
		return nil
	}
	failing := wide
	failing.Host.Sysctls, failing.Host.Addresses = nil, []heddle.Address{{Link: "set/x", Prefix: netip.MustParsePrefix("192.0.2.9/32")}}
	if _, err := r.k.Apply(failing, nil); !errors.Is(err, errInjected) {
		t.Fatal(err)
	}
	r.k.Tripwire = nil
	holds("192.0.2.1 10.20.0.70", "192.0.2.1 10.20.0.96/27", "192.0.2.2 10.20.0.64/26")
	if made := r.apply(wide); !slices.Equal(made, []string{wide.Host.Elements[0].Key()}) {
		t.Errorf("made %v", made)
	}
	holds("192.0.2.1 10.20.0.64/26", "192.0.2.2 10.20.0.64/26")
	keep := func(key string) bool { return strings.HasPrefix(key, "firewall/") }
	cell.Must(t, r.k.Remove(narrow, nil, keep))
	holds("192.0.2.1 10.20.0.64/26")
	cell.Must(t, r.k.Remove(wide, nil, keep))
	holds()
	// the kernel refuses an element within another, and then neither is there
	if _, err := r.k.Apply(plan(wide.Host.Elements[0], narrow.Host.Elements[0]), nil); err == nil {
		t.Error("an element within another was taken")
	}
	holds()
}

// A thousand elements are made, found and removed; a batch that meets some of
// them adds the others.
func TestRangesMany(t *testing.T) {
	r := newRoom(t)
	s := tunnelPlan(0, 0)
	s.Links, s.Addresses = nil, nil
	for i := range 1000 {
		s.Elements = append(s.Elements, origin(fmt.Sprintf("192.0.2.%d", 1+i%32), fmt.Sprintf("10.%d.%d.%d/26", i/256, i%256, 64*(i%4))))
	}
	plan := heddle.Plan{Host: s}
	start := time.Now()
	r.apply(plan)
	t.Logf("1,000 elements made in %v", time.Since(start).Round(time.Millisecond))
	r.clean(plan)
	if again := r.apply(plan); len(again) > 0 {
		t.Errorf("made again %v", again)
	}
	owned, err := r.k.Ours()
	cell.Must(t, err)
	if n := len(owned.State.Elements); n != 1000 {
		t.Errorf("%d elements are ours", n)
	}
	cell.Must(t, r.k.nft.deleteElements(s.Elements[100:300]))
	diff, err := r.k.Diff(plan, nil)
	cell.Must(t, err)
	if len(diff) != 200 {
		t.Errorf("%d differences", len(diff))
	}
	if made := r.apply(plan); len(made) != 200 {
		t.Errorf("made %d again", len(made))
	}
	r.clean(plan)
	start = time.Now()
	cell.Must(t, r.k.Remove(plan, nil, nil))
	t.Logf("removed in %v", time.Since(start).Round(time.Millisecond))
	r.nothingOwned()
}

// A range is read back as a plan writes it.
func TestBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var parts []string
		for range 2 {
			bits := rapid.IntRange(1, 32).Draw(t, "bits")
			a := netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address")))
			p := netip.PrefixFrom(a, bits).Masked()
			if parts = append(parts, p.String()); bits == 32 {
				parts[len(parts)-1] = p.Addr().String()
			}
		}
		first, last, err := bounds(parts)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(parts, joinBounds(first, last)); d != "" {
			t.Fatal(d)
		}
	})
	if s := joinBounds([]string{"10.0.0.1", "fd00::1"}, []string{"10.0.0.6", "fd00::1"}); !slices.Equal(s, []string{"10.0.0.1-10.0.0.6", "fd00::1"}) {
		t.Error(s)
	}
	for _, bad := range []string{"10.20.0.65/26", "10.20.0.0/33", "/8", "fd00::/129"} {
		if _, _, err := bounds([]string{bad}); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}
