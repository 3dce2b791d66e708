package runtimes_test

import (
	"fmt"
	"net/netip"
	"os"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// A wiring is a mode as a CNI configuration asks for it.
type wiring struct {
	mode string
	// onLAN says that containers are hosts of a LAN of the host's, which then is
	// the parent: no port of the host leads to them.
	onLAN bool
}

// wirings are the modes that every runtime's test goes through.
var wirings = []wiring{
	{mode: "bridge"},
	{mode: "routed"},
	{mode: "macvlan", onLAN: true},
}

// conflist is a list with one network, whose subnets follow from its number.
func (w wiring) conflist(name string, number int) string {
	keys := ""
	if w.onLAN {
		keys = fmt.Sprintf(`"parent": "lan%d", "gateways": ["10.%[1]d.0.1", "fd%[1]d::1"], "ranges": ["10.%[1]d.0.0/24", "fd%[1]d::/112"],`, number)
	}
	return fmt.Sprintf(`{"cniVersion": "1.0.0", "name": %q, "plugins": [{"type": "heddle-cni",
		"mode": %q, "subnets": ["10.%d.0.0/16", "fd%[3]d::/64"], %s
		"capabilities": {"portMappings": true, "mac": true, "ips": true}}]}`, name, w.mode, number, keys)
}

// surround makes what networks of those numbers need around the host: routes to
// them from outside, as a neighbour on the LAN would have where addresses are not
// hidden; or LANs, with the outside as their router.
func (h *host) surround(w wiring, numbers ...int) {
	h.t.Helper()
	h.wiring = w
	for _, n := range numbers {
		if !w.onLAN {
			h.outside.Sh(h.t, "ip route replace 10.%d.0.0/16 via %s; ip route replace fd%[1]d::/64 via %[3]s", n, world.Host4, world.Host6)
			h.t.Cleanup(func() {
				h.outside.Sh(h.t, "ip route delete 10.%d.0.0/16; ip -6 route delete fd%[1]d::/64", n)
			})
			continue
		}
		cell.Sh(h.t, `ip link add lan%d type veth peer name lan%[1]d netns outside
			ip address add 10.%[1]d.9.9/16 dev lan%[1]d; ip address add fd%[1]d::9:9/64 dev lan%[1]d nodad
			ip link set lan%[1]d up
			ip -n outside address add 10.%[1]d.0.1/16 dev lan%[1]d; ip -n outside address add fd%[1]d::1/64 dev lan%[1]d nodad
			ip -n outside link set lan%[1]d up`, n)
		h.t.Cleanup(func() { cell.TrySh("ip link delete lan%d", n) })
	}
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
