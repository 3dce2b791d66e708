package ipvlan_test

import (
	"testing"
)

// TestReach: containers, nodes and the router reach each other, whichever NIC they
// are on, each with its own address; large transfers between containers are intact.
func TestReach(t *testing.T) {
	s := newScene(t, routedCloud)
	s.populate(t, nil)
	s.reach(t)
	s.transfers(t)
}

// reach: every container reaches all others and both nodes, and every node them.
func (s *scene) reach(t *testing.T) {
	t.Helper()
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

// TestSubmodes: the same in the sub-modes in which the host routes for the
// containers, on the NICs that have its default route.
func TestSubmodes(t *testing.T) {
	for _, sub := range []string{"l3", "l3s"} {
		t.Run(sub, func(t *testing.T) {
			s := newScene(t, routedCloud)
			for _, name := range []string{"primary1", "primary2"} {
				s.network(t, name, map[string]string{"ipvlan_mode": sub})
			}
			s.pod(t, "a1", "primary1", 1)
			s.pod(t, "a2", "primary1", 2)
			s.pod(t, "c1", "primary2", 1)
			s.reach(t)
		})
	}
}
