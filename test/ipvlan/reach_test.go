package ipvlan_test

import (
	"testing"
)

// TestReach: containers, nodes and the router reach each other, whichever NIC they
// are on, each with its own address.
func TestReach(t *testing.T) {
	s := newScene(t, routedCloud)
	s.populate(t, nil)
	for _, from := range s.pods {
		for name, to := range s.pods {
			from.Gets(t, name, 8080, to.addrs...)
		}
		for _, primary := range []string{"primary1", "primary2"} {
			from.Reaches(t, s.nics[primary].own...)
		}
	}
	for _, n := range s.nodes {
		for _, to := range s.pods {
			n.Reaches(t, to.addrs...)
		}
		n.auditEmpty(t)
	}
}
