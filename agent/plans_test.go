package agent

import (
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// TestOwnersOf: what an endpoint lacked while it was made is nothing to repair.
func TestOwnersOf(t *testing.T) {
	wanted, names := newWantedObjects(), newNameTables()
	p := &plans{networks: newRegister(wanted, reporter{}, nil), records: newRecords(wanted, names), hostPaths: &hostPaths{}, policies: &policies{}, havips: &havips{}, routes: &vpcRoutes{}}
	drift := []kernel.Difference{}
	for _, name := range []string{"steady", "new", "leaving"} {
		r := record{Endpoint: heddle.Endpoint{ID: heddle.EndpointID{Container: name, IfName: "eth0"}}}
		r.Plan.Host.Links = []heddle.Link{{Name: name, Kind: "veth"}}
		p.records.add(r, "")
		drift = append(drift, kernel.Difference{Key: r.Plan.Host.Links[0].Key()})
	}
	id := func(name string) heddle.EndpointID { return heddle.EndpointID{Container: name, IfName: "eth0"} }
	p.records.setPending(id("new"), intentAttach)
	unfinished := p.records.unfinished()
	p.records.setPending(id("new"), "")
	p.records.setPending(id("leaving"), intentDetach)
	found := p.ownersOf(drift, unfinished)
	if len(found.endpoints) != 1 || found.endpoints[0].Endpoint.ID != id("steady") {
		t.Errorf("to repair: %+v", found.endpoints)
	}
}
