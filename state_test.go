package heddle_test

import (
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
)

func TestDelta(t *testing.T) {
	route := func(dst string, mtu int) heddle.Route {
		return heddle.Route{Dst: netip.MustParsePrefix(dst), Link: "hv", MTU: mtu}
	}
	old := heddle.State{Routes: []heddle.Route{route("10.0.0.0/26", 1450), route("10.0.0.64/26", 1450), route("10.0.0.128/26", 1450)}}
	next := heddle.State{Routes: []heddle.Route{route("10.0.0.64/26", 1300), route("10.0.0.128/26", 1450), route("10.0.0.192/26", 1450)}}
	add, gone := heddle.Delta(old, next)
	if len(add.Routes) != 2 || add.Routes[0].MTU != 1300 || add.Routes[1].Dst.String() != "10.0.0.192/26" {
		t.Errorf("to add: %v", add.Routes)
	}
	if len(gone.Routes) != 1 || gone.Routes[0].Dst.String() != "10.0.0.0/26" {
		t.Errorf("to remove: %v", gone.Routes)
	}
	if add, gone = heddle.Delta(next, next); !add.Empty() || !gone.Empty() {
		t.Errorf("nothing changed: %v %v", add, gone)
	}
}
