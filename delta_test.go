package heddle

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Of every kind: what is new, what is wanted differently, what stays, what goes.
func TestDelta(t *testing.T) {
	mac := func(n int) MAC { return MAC(fmt.Sprintf("0e:00:00:00:00:%02x", n)) }
	addr := netip.MustParseAddr
	block := func(n int) netip.Prefix { return netip.MustParsePrefix(fmt.Sprintf("10.20.%d.0/26", n)) }
	state := func(n, setting int) State {
		name := fmt.Sprintf("hv%d", n)
		return State{
			Firewall: []Firewall{{Family: "inet", Kind: "chain", Name: name, Rules: []string{fmt.Sprint("rule ", setting)}}},
			Links: []Link{{Name: name, Kind: "vxlan", Tunnel: &Tunnel{VNI: uint32(setting), Local: addr("192.0.2.1"), Port: 4789}},
				{Name: name + "p", Port: &BridgePort{Learning: setting == 2}}},
			NICs:       []NIC{{Name: name, IfName: fmt.Sprint("eth", setting)}},
			Sysctls:    []Sysctl{{Name: name, Value: fmt.Sprint(setting)}},
			Elements:   []Element{{Family: "inet", Set: "from", Match: []string{name}, Value: []string{fmt.Sprint("goto c", setting)}}},
			Forwards:   []Forward{{Link: "hv", MAC: mac(n), Dst: addr(fmt.Sprint("192.0.2.", setting))}},
			Neighbours: []Neighbour{{Link: "hv", Addr: addr(fmt.Sprint("10.0.0.", n)), MAC: mac(setting)}},
			Routes:     []Route{{Dst: block(n), Link: "hv", MTU: 1400 + setting}},
			Rules:      []Rule{{Priority: 26624 + n, Table: setting}},
		}
	}
	// what has no setting of its own is the same, or is not there
	plain := func(n int) State {
		return State{Addresses: []Address{{Link: "hv", Prefix: block(n)}}}
	}
	stays, changed, became, goes, comes := state(1, 1), state(2, 1), state(2, 2), state(3, 1), state(4, 1)
	stays, goes, comes = Append(stays, plain(1)), Append(goes, plain(3)), Append(comes, plain(4))

	add, gone := Delta(Append(Append(stays, changed), goes), Append(Append(stays, became), comes))
	same(t, "add", add, Append(became, comes))
	same(t, "gone", gone, goes)

	add, gone = Delta(stays, stays)
	if !add.Empty() || !gone.Empty() {
		t.Errorf("a state and itself differ in %v and %v", add.Objects(), gone.Objects())
	}
	add, gone = Delta(State{}, comes)
	same(t, "add to nothing", add, comes)
	same(t, "gone from nothing", gone, State{})
}

func same(t *testing.T, what string, have, want State) {
	t.Helper()
	if !slices.EqualFunc(have.Objects(), want.Objects(), func(a, b Object) bool { return a.Key() == b.Key() && Same(a, b) }) {
		t.Errorf("%s: have %v, want %v", what, have.Objects(), want.Objects())
	}
}

// The old state without what is gone and with what is added is the new one.
func TestDeltaLeads(t *testing.T) {
	routes := rapid.Custom(func(t *rapid.T) State {
		var s State
		for n := range 6 {
			if mtu := rapid.IntRange(0, 2).Draw(t, "mtu"); mtu > 0 {
				s.Routes = append(s.Routes, Route{Dst: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(n)}), 24), Link: "hv", MTU: mtu})
			}
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		old, new := routes.Draw(t, "old"), routes.Draw(t, "new")
		add, gone := Delta(old, new)
		have := byKey(old)
		for _, x := range gone.Objects() {
			delete(have, x.Key())
		}
		for _, x := range add.Objects() {
			have[x.Key()] = x
		}
		want := byKey(new)
		if len(have) != len(want) {
			t.Fatalf("have %v, want %v", have, want)
		}
		for key, x := range want {
			if have[key] == nil || !Same(have[key], x) {
				t.Fatalf("%s: have %v, want %v", key, have[key], x)
			}
		}
	})
}
