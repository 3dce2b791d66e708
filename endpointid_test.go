package heddle_test

import (
	"slices"
	"testing"

	"github.com/heddle-network/heddle"
)

func TestIsPortName(t *testing.T) {
	port := heddle.EndpointID{Container: "web", IfName: "eth0"}.PortName()
	network := heddle.Network{ID: "1f00d"}
	for name, want := range map[string]bool{port: true, "hd0": false, port + "a": false, network.BridgeName(0): false, "eth0": false, "": false} {
		if heddle.IsPortName(name) != want {
			t.Errorf("%q is a port's name: %v", name, !want)
		}
	}
}

func TestCompareEndpoints(t *testing.T) {
	id := func(container, ifname string) heddle.EndpointID {
		return heddle.EndpointID{Container: container, IfName: ifname}
	}
	want := []heddle.EndpointID{id("a", "eth0"), id("a", "eth1"), id("ab", "eth0"), id("b", "")}
	got := []heddle.EndpointID{want[3], want[1], want[2], want[0]}
	slices.SortFunc(got, heddle.EndpointID.Compare)
	if !slices.Equal(got, want) {
		t.Errorf("sorted: %v", got)
	}
}
