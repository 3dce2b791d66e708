package agent

import (
	"testing"

	"github.com/heddle-network/heddle"
)

// TestRecordsCounted: what is counted of records follows each change of them.
func TestRecordsCounted(t *testing.T) {
	l := newRecords(newWantedObjects(), newNameTables())
	one := func(name string, mac heddle.MAC, cookie uint64, handover bool, inside string) record {
		return record{Endpoint: heddle.Endpoint{ID: heddle.EndpointID{Container: name, IfName: "eth0"}, MAC: mac, Handover: handover, Inside: inside}, Cookie: cookie}
	}
	check := func(what string, mac heddle.MAC, hasMAC bool, cookie uint64, hasContainer bool, offered int) {
		t.Helper()
		if l.hasMAC(mac) != hasMAC || l.hasContainer(cookie) != hasContainer || len(l.allOffered()) != offered {
			t.Errorf("%s: MAC %v, container %v, %d offered", what, l.hasMAC(mac), l.hasContainer(cookie), len(l.allOffered()))
		}
	}
	l.add(one("a", "m1", 1, true, ""), intentAttach)
	check("while it is made", "m1", true, 1, true, 0)
	l.setPending(one("a", "", 0, true, "").Endpoint.ID, "")
	check("when it is made", "m1", true, 1, true, 1)
	l.add(one("b", "m1", 1, false, ""), "")
	l.put(one("a", "m2", 2, true, "eth0"))
	check("another has the same", "m1", true, 1, true, 0)
	check("the next record", "m2", true, 2, true, 0)
	l.remove(one("b", "m1", 1, false, ""))
	check("the other is gone", "m1", false, 1, false, 0)
	l.remove(one("a", "m2", 2, true, "eth0"))
	check("both are gone", "m2", false, 2, false, 0)
	if len(l.macs)+len(l.cookies)+len(l.offered) > 0 {
		t.Errorf("left: %v %v %v", l.macs, l.cookies, l.offered)
	}
}
