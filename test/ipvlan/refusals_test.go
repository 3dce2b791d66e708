package ipvlan_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestRefusals: a parent that others use in another way, and addresses that another
// network gives out, are refused, and nothing is made.
func TestRefusals(t *testing.T) {
	s := newScene(t, bridgedCloud)
	n := s.nodes["node1"]
	refused := func(plan heddle.Network, code heddle.Code, words string) {
		t.Helper()
		_, _, err := n.CreateNetwork(plan, false)
		if !errors.Is(err, code.Sentinel()) || !strings.Contains(err.Error(), words) {
			t.Errorf("got %v, want %s about %q", err, code, words)
		}
		n.auditEmpty(t)
	}
	n.Sh(t, "ip link add link eth1 name other type macvlan mode bridge")
	refused(s.plan("a", nil), heddle.PlanConflict, "exclude each other")
	n.Sh(t, "ip link del other; ip link add link eth1 name other type ipvlan mode l3")
	refused(s.plan("a", nil), heddle.PlanConflict, "other stands there in another sub-mode")
	if out := n.Sh(t, "ip -d link show other"); !strings.Contains(out, "mode l3") {
		t.Errorf("it has another sub-mode now: %s", out)
	}
	n.Sh(t, "ip link del other")
	s.network(t, "a", nil)
	overlapping := s.plan("b", nil)
	overlapping.Ranges = s.plan("a", nil).Ranges
	refused(overlapping, heddle.SubnetOverlap, "on-a")
	submode := s.plan("a", map[string]string{"ipvlan_mode": "l3"})
	submode.Name, submode.Ranges, submode.Gateways = "more", s.plan("b", nil).Ranges, nil
	refused(submode, heddle.PlanConflict, "one ipvlan sub-mode")
	s.network(t, "b", nil)
}
