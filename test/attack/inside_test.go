package attack_test

import (
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/test/world"
)

// insideAttacks go from an internal network to the host itself.
func insideAttacks() []ownAttack {
	return []ownAttack{{class: "internal", name: "internal network to the host's services", modes: "bridge routed overlay", limit: firewall.LimitInside,
		mount: func(t *testing.T, mode string, _ bool) bool {
			w := world.New(t)
			n := w.Network(t, "net", mode, world.Internal)
			pod := w.Pod(t, "pod", "net")
			at := append([]netip.Addr{world.Host4, world.Host6}, n.Gateways...)
			w.Host.Serve(t, loopPort, at...)
			pod.Sh(t, "ip route add %s via %s; ip -6 route add %s via %s", world.Host4, n.Gateways[0], world.Host6, n.Gateways[1])
			pod.Gets(t, "host", loopPort, at...)
			return !t.Failed()
		}}}
}
