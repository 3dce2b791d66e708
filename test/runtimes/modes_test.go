package runtimes_test

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// A wiring is a mode as a CNI configuration asks for it.
type wiring struct {
	mode string
	// onLAN says that containers are hosts of a LAN of the host's: no port of the
	// host leads to them.
	onLAN bool
	// nics says that each container gets one of the host's NICs, with its MAC
	// address.
	nics bool
}

// wirings are the modes of which every runtime's test tells (see told).
var wirings = []wiring{
	{mode: "bridge"},
	{mode: "routed"},
	{mode: "overlay"},
	{mode: "macvlan", onLAN: true},
	{mode: "direct", onLAN: true, nics: true},
}

// told are the first of them, and all others; in make test, one of the others.
func told(t *testing.T) []wiring { return append(wirings[:1:1], soak.OneOf(t, wirings[1:]...)...) }

// takeTurn skips a story whose turn has not come. One without a turn is told each time.
func takeTurn(t *testing.T, turn []int) {
	t.Helper()
	for _, n := range turn {
		soak.Turn(t, n)
	}
}

// briefly says that a runtime's test tells in this mode only what containers do first. What is left
// is between the runtime and the agent, and is told in the first mode; in all with make soak.
func (w wiring) briefly() bool { return w.mode != wirings[0].mode && !soak.On() }

// conflist is a list with one network, whose subnets follow from its number.
func (w wiring) conflist(name string, number int) string {
	keys := ""
	if w.onLAN {
		keys = fmt.Sprintf(`"gateways": ["10.%d.0.1", "fd%[1]d::1"], "ranges": ["10.%[1]d.0.0/24", "fd%[1]d::/112"],`, number)
	}
	if w.nics {
		keys += fmt.Sprintf(`"options": {"nics": %q},`, pool(number))
	} else if w.onLAN {
		keys += fmt.Sprintf(`"parent": "lan%d",`, number)
	}
	return fmt.Sprintf(`{"cniVersion": "1.0.0", "name": %q, "plugins": [{"type": "heddle-cni",
		"mode": %q, "subnets": ["10.%d.0.0/16", "fd%[3]d::/64"], %s
		"capabilities": {"portMappings": true, "mac": true, "ips": true}}]}`, name, w.mode, number, keys)
}

// flags are the same network's for heddle network create.
func (w wiring) flags(number int) string {
	text := fmt.Sprintf("--mode %s --subnet 10.%d.0.0/16 --subnet fd%[2]d::/64", w.mode, number)
	if w.onLAN {
		text += fmt.Sprintf(" --gateway 10.%d.0.1 --gateway fd%[1]d::1 --ip-range 10.%[1]d.0.0/24 --ip-range fd%[1]d::/112", number)
	}
	if w.nics {
		text += " --opt nics=" + pool(number)
	} else if w.onLAN {
		text += fmt.Sprintf(" --parent lan%d", number)
	}
	return text
}

// pool are the NICs on the LAN of that number, for containers.
func pool(number int) string { return fmt.Sprintf("nic%da,nic%[1]db,nic%[1]dc,nic%[1]dd", number) }

// surround makes what networks of those numbers need around the host: routes to
// them from outside, as a neighbour on the LAN would have where addresses are not
// hidden; or LANs, with the outside as their router and switch.
func (h *host) surround(w wiring, numbers ...int) {
	h.t.Helper()
	h.wiring = w
	for _, n := range numbers {
		if w.onLAN {
			h.lan(w, n)
			continue
		}
		h.outside.Sh(h.t, "ip route replace 10.%d.0.0/16 via %s; ip route replace fd%[1]d::/64 via %[3]s", n, world.Host4, world.Host6)
		h.t.Cleanup(func() {
			h.outside.Sh(h.t, "ip route delete 10.%d.0.0/16; ip -6 route delete fd%[1]d::/64", n)
		})
	}
}

// lan makes a LAN with NICs of the host's. The host has an address there for what
// stands on its own NIC; where NICs are given away it goes by the router.
func (h *host) lan(w wiring, n int) {
	h.t.Helper()
	h.outside.Sh(h.t, `ip link add lan%d type bridge
		ip address add 10.%[1]d.0.1/16 dev lan%[1]d; ip address add fd%[1]d::1/64 dev lan%[1]d nodad
		ip link set lan%[1]d up`, n)
	for _, nic := range append(strings.Split(pool(n), ","), fmt.Sprintf("lan%d", n)) {
		cell.Sh(h.t, `ip link add %s type veth peer name port-%[1]s netns outside
			ip -n outside link set port-%[1]s master lan%d up
			ip link set %[1]s up`, nic, n)
	}
	if w.nics {
		h.nics = append(h.nics, strings.Split(pool(n), ",")...)
		h.t.Cleanup(func() { h.nics = nil })
		h.outside.Sh(h.t, "sysctl -q net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1")
	} else {
		cell.Sh(h.t, "ip address add 10.%d.9.9/16 dev lan%[1]d; ip address add fd%[1]d::9:9/64 dev lan%[1]d nodad", n)
	}
	h.t.Cleanup(func() {
		h.outside.Sh(h.t, "ip link delete lan%d; ip -o link show type veth | grep -o 'port-[^@]*%[1]d[a-d]*' | xargs -n 1 ip link delete", n)
	})
}

// at are the addresses in a subnet of that number.
func at(number, host int) []netip.Addr {
	return []netip.Addr{netip.AddrFrom4([4]byte{10, byte(number), 0, byte(host)}), netip.MustParseAddr(fmt.Sprintf("fd%d::%x", number, host))}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
