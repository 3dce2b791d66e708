package world

import (
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

// wire joins the outside to the host's uplink and gives both their routes.
func (w *World) wire(t testing.TB) {
	t.Helper()
	cell.Sh(t, `ip -n outside link set lo up
		ip link add up0 mtu %d type veth peer name eth0 mtu %[1]d netns outside
		ip address add %s/24 dev up0; ip address add %s/64 dev up0 nodad
		ip -n outside address add %s/24 dev eth0; ip -n outside address add %s/64 dev eth0 nodad
		ip -n outside address add %s/32 dev lo; ip -n outside address add %s/128 dev lo nodad
		ip link set up0 up; ip -n outside link set eth0 up
		ip route add default via %[4]s; ip -6 route add default via %[5]s`,
		UplinkMTU, Host4, Host6, Outside4, Outside6, Beyond4, Beyond6)
	t.Cleanup(func() { cell.TrySh("ip link del up0") })
	Ready(t, "up0", w.Outside)
	w.Host.Reaches(t, Outside4, Outside6)
}

// Ready waits until a veth pair carries packets: a link gets its queue a moment after its carrier.
// The far end is eth0 of the namespace.
func Ready(t testing.TB, link string, far Netns) {
	t.Helper()
	Soon(t, link+" carries packets", func() error {
		state := cell.Sh(t, "ip -o link show dev %s", link) + far.Sh(t, "ip -o link show dev eth0")
		if strings.Contains(state, "qdisc noop ") || strings.Count(state, "state UP") < 2 {
			return errors.New(state)
		}
		return nil
	})
}

// BridgeNF sets whether bridged frames pass the IP firewall, too, as they do where Docker is
// installed. It reports whether this kernel can do that.
func (w *World) BridgeNF(t testing.TB, on bool) bool {
	t.Helper()
	value := map[bool]string{true: "1", false: "0"}[on]
	for _, name := range []string{"iptables", "ip6tables"} {
		path := "/proc/sys/net/bridge/bridge-nf-call-" + name
		old, err := os.ReadFile(path)
		if err != nil {
			return !on
		}
		if err := os.WriteFile(path, []byte(value), 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.WriteFile(path, old, 0) })
	}
	return true
}

// RouteToPods gives the outside routes through the host to the network's subnets, as a neighbour
// on the LAN could set them.
func (w *World) RouteToPods(t testing.TB, n heddle.Network) {
	t.Helper()
	for _, s := range n.Subnets {
		w.Outside.Sh(t, "ip route add %s via %s", s, pick(s.Addr(), Host4, Host6))
	}
}

// pick returns the address of the family of like.
func pick(like, v4, v6 netip.Addr) netip.Addr {
	if like.Is4() {
		return v4
	}
	return v6
}
