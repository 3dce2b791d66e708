package agent

import (
	"testing"

	"github.com/heddle-network/heddle"
)

// TestNoHoldWithoutNIC: an endpoint that had a NIC when the agent began to look after it, and that is on another
// network by the time, is left alone: nobody would end a hold of its namespace.
func TestNoHoldWithoutNIC(t *testing.T) {
	id := heddle.EndpointID{Container: "c", IfName: "eth0"}
	a := &Agent{records: newRecords(newWantedObjects(), newNameTables())} // without holds it cannot hold anything
	a.records.add(record{Endpoint: heddle.Endpoint{ID: id, Netns: "/proc/self/ns/net"}}, "")
	if back, err := a.detachIfDead(id); back || err != nil {
		t.Errorf("it is looked after as if it had a NIC: %t, %v", back, err)
	}
}
