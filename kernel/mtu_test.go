package kernel

import (
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/commands"
	"github.com/heddle-network/heddle/mode/bridge"
	"github.com/heddle-network/heddle/mode/ipvlan"
	"github.com/heddle-network/heddle/mode/macvlan"
	"github.com/heddle-network/heddle/mode/routed"
	"github.com/heddle-network/heddle/test/cell"
)

// TestBelowIPv6: a plan whose links are too small for IPv6 is applied, compared and typed as others
// are. When the MTU is raised, the links get the wanted IPv6 settings.
func TestBelowIPv6(t *testing.T) {
	modes := []heddle.Mode{bridge.Mode{}, routed.Mode{}, macvlan.Mode{}}
	if hasIPvlan(t) {
		modes = append(modes, ipvlan.Mode{})
	}
	for _, m := range modes {
		t.Run(m.Name(), func(t *testing.T) {
			plans := func(mtu int) []heddle.Plan {
				s := newSizedScenario(t, m.Name(), m, nil, 0, mtu, false)
				return []heddle.Plan{s.netPlan, s.endpoint(0)}
			}
			made, typed := newRoom(t), newRoom(t)
			for _, r := range []*room{made, typed} {
				r.sh(uplinkScript)
			}
			for _, p := range plans(1000) {
				typed.sh(strings.Join(commands.Of(p, typed.pod), "\n"))
				typed.apply(heddle.Plan{Host: p.Host.Filter(fast)})
				typed.clean(p)
				if again := typed.apply(p); len(again) != 0 {
					t.Errorf("Apply after the commands made %v", again)
				}
			}
			for _, mtu := range []int{1000, 1279, 1280, 1400, 576} {
				for _, p := range plans(mtu) {
					made.apply(p)
					made.clean(p)
					if again := made.apply(p); len(again) != 0 {
						t.Errorf("with %d bytes, the second time made %v", mtu, again)
					}
				}
			}
			last := plans(576)
			for i := len(last) - 1; i >= 0; i-- {
				cell.Must(t, made.k.Remove(last[i], made.podNS, nil))
			}
		})
	}
}
