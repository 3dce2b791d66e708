package modes_test

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/test/world"
)

// TestListening: masquerading keeps clear of a port of its range on which the host
// begins to listen, ends what had left by it, and uses it again afterwards.
func TestListening(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	pod := w.Pod(t, "pod", "net")
	const port = 61820
	to := netip.AddrPortFrom(world.Outside4, 6060)
	w.Outside.Listen(t, "udp", to)
	// the kernel does not forget it by itself
	for _, sysctl := range []string{"net.netfilter.nf_conntrack_udp_timeout", "net.netfilter.nf_conntrack_udp_timeout_stream"} {
		was := strings.TrimSpace(w.Host.Sh(t, "sysctl -n %s", sysctl))
		w.Host.Sh(t, "sysctl -qw %s=3600", sysctl)
		t.Cleanup(func() { w.Host.Sh(t, "sysctl -qw %s=%s", sysctl, was) })
	}
	leaves := func() string {
		t.Helper()
		if _, err := pod.AskFrom("udp", netip.AddrPortFrom(pod.V4(), port), to, world.Patience); err != nil {
			t.Fatal(err)
		}
		return strings.Join(w.Host.Tracked(t, pod.V4(), to.Addr()), "\n")
	}
	kept := fmt.Sprintf("dport=%d ", port)
	if got := leaves(); !strings.Contains(got, kept) {
		t.Fatalf("a connection does not keep a port that is free: %s", got)
	}
	// the agent looks every five seconds, and more seldom on a busy machine
	const patience = time.Minute
	c, err := net.ListenPacket("udp", fmt.Sprintf(":%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, _, err := w.CreateNetwork(w.Plan("another", "bridge"), true); err != nil { // the agent looks at the host for that, too
		t.Fatal(err)
	}
	world.Within(t, patience, "the connection that left by the port is forgotten", func() error {
		if got := w.Host.Tracked(t, pod.V4(), to.Addr()); len(got) > 0 {
			return fmt.Errorf("%s", got)
		}
		return nil
	})
	if got := leaves(); strings.Contains(got, kept) {
		t.Errorf("a connection leaves by a port on which the host listens: %s", got)
	}
	c.Close()
	world.Within(t, patience, "the port is free again", func() error {
		if out := w.Host.Sh(t, "nft list set inet heddle taken"); strings.Contains(out, fmt.Sprint(port)) {
			return fmt.Errorf("%s", out)
		}
		return nil
	})
}

// TestOutlets: a bridge that is called as another engine's are, and becomes the host's
// way to the outside after a network was made, is one for its containers.
func TestOutlets(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge", func(n *heddle.Network) { n.Options = map[string]string{firewall.OptionEngines: "true"} })
	has := func(is bool) func() error {
		return func() error {
			if out := w.Host.Sh(t, "nft list set inet heddle outlets"); strings.Contains(out, "br-ext") != is {
				return fmt.Errorf("%s", out)
			}
			return nil
		}
	}
	w.Host.Sh(t, "ip link add br-ext type bridge; ip link set br-ext up; ip address add 198.18.0.2/24 dev br-ext; ip route add default via 198.18.0.1 dev br-ext metric 4000")
	world.Within(t, time.Minute, "it is a way to the outside", has(true))
	w.Host.Sh(t, "ip link del br-ext")
	world.Within(t, time.Minute, "it is none any more", has(false))
}
