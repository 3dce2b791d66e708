package modes_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/test/world"
)

// TestManyConnections: more connections, one after another, to one port outside than
// masquerading has ports: those that are closing make room.
func TestManyConnections(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	pod := w.Pod(t, "pod", "net")
	to := netip.AddrPortFrom(world.Outside4, 6060)
	w.Outside.Listen(t, "tcp", to)
	// none of them may be forgotten before the last one is there
	const sysctl = "net.netfilter.nf_conntrack_tcp_timeout_time_wait"
	was := strings.TrimSpace(w.Host.Sh(t, "sysctl -n %s", sysctl))
	w.Host.Sh(t, "sysctl -qw %s=3600", sysctl)
	t.Cleanup(func() {
		w.Host.Sh(t, "sysctl -qw %s=%s", sysctl, was)
		w.Host.ForgetFlows(t)
	})
	ports := int(firewall.LastMasqueradePort-firewall.FirstMasqueradePort) + 1
	for i := range ports + 500 {
		c, err := pod.Dial("tcp", netip.AddrPort{}, to, world.Patience)
		if err != nil {
			t.Fatalf("connection %d, of %d ports: %v", i+1, ports, err)
		}
		c.Close()
	}
}
