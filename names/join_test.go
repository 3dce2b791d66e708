package names_test

import (
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/names"
)

// TestJoin: the files of a network are one network, and an endpoint that two of them have is there once.
func TestJoin(t *testing.T) {
	one := func(host, container string) names.Endpoint {
		return names.Endpoint{ID: heddle.EndpointID{Container: container, IfName: "eth0"}, Host: host}
	}
	files := []names.Network{
		{ID: "a", Name: "app", Endpoints: []names.Endpoint{one("", "x"), one("", "y")}},
		{ID: "b", Name: "back", Endpoints: []names.Endpoint{one("", "x")}},
		{ID: "a", Name: "app", Endpoints: []names.Endpoint{one("", "y"), one("h", "y"), one("", "z")}},
		{ID: "a", Name: "app"},
	}
	all := names.JoinAll(files)
	if len(all) != 2 || all[0].ID != "a" || len(all[0].Endpoints) != 4 || all[1].ID != "b" || len(all[1].Endpoints) != 1 {
		t.Errorf("%+v", all)
	}
	if len(files[0].Endpoints) != 2 {
		t.Error("a file has changed")
	}
}
