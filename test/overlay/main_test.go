// Package overlay_test lets containers of two hosts talk: over IPv4 and over IPv6,
// with each other, their hosts and the outside.
package overlay_test

import (
	"os"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/vm"
)

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

// TestInGuests repeats all under the kernels of Debian. In make test, TestReach has tunnels over IPv6,
// and all else over IPv4: the guard and the tracking within are the same.
func TestInGuests(t *testing.T) {
	soak.Turn(t, 2)
	small := "^TestReach$/^over_IPv6$|^Test(Isolation|Translated)$/^over_IPv4$|^TestForeignFirewall$/./^over_IPv4$"
	g := vm.Guest{Small: map[string]string{"6.1": small}}
	g.RunEverywhere(t, "^Test(Reach|Isolation|Untracked|HostIsTracked|Translated|ForeignFirewall)$")
}
