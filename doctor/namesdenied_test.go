package doctor

import (
	"fmt"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/names"
)

// TestWhoAsks: a container is known by its name, on all its networks, also where each of its endpoints
// has an ID of its own, as Docker's have. Those of other hosts ask elsewhere.
func TestWhoAsks(t *testing.T) {
	endpoint := func(id, pod, host, name string) names.Endpoint {
		return names.Endpoint{ID: heddle.EndpointID{Container: id, IfName: "eth0"}, Pod: pod, Host: host, Name: name}
	}
	tables := []names.Network{
		{Name: "front", Endpoints: []names.Endpoint{endpoint("e1", "/run/ns/a", "", "shop"), endpoint("c1", "", "", ""), endpoint("c1", "", "host2", "far")}},
		{Name: "back", Endpoints: []names.Endpoint{endpoint("e2", "/run/ns/a", "", ""), endpoint("e3", "/run/ns/b", "", "db")}},
	}
	for container, want := range map[string]string{"/run/ns/a": "shop [front back]", "c1": "c1 [front]", "/run/ns/b": "db [back]", "gone": "gone []"} {
		who, networks := whoAsks(container, tables)
		if got := fmt.Sprint(who, " ", networks); got != want {
			t.Errorf("%s is %s, want %s", container, got, want)
		}
	}
}
