// Package overlay_test lets containers of two hosts talk: over IPv4 and over IPv6,
// with each other, their hosts and the outside.
package overlay_test

import (
	"os"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/vm"
)

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

// TestInGuests repeats all under a kernel of Debian's.
func TestInGuests(t *testing.T) {
	vm.RunInGuest(t, "6.1", "^(TestReach|TestIsolation|TestUntracked|TestHostIsTracked|TestTranslated|TestForeignFirewall)$")
}
