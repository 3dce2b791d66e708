package runtimes_test

import (
	"fmt"
	"net/netip"
	"os"
	"testing"
)

// A wiring is a mode as a CNI configuration asks for it.
type wiring struct {
	mode string
	// keys are the definition's further keys.
	keys string
}

// wirings are the modes that every runtime's test goes through.
var wirings = []wiring{
	{mode: "bridge"},
	{mode: "routed"},
}

// conflist is a list with one network, whose subnets follow from its number.
func (w wiring) conflist(name string, number int) string {
	return fmt.Sprintf(`{"cniVersion": "1.0.0", "name": %q, "plugins": [{"type": "heddle-cni",
		"mode": %q, "subnets": ["10.%d.0.0/16", "fd%[3]d::/64"]%s,
		"capabilities": {"portMappings": true, "mac": true, "ips": true}}]}`, name, w.mode, number, w.keys)
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
