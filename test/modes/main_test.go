// Package modes_test proves what the modes promise, packet by packet: who
// reaches whom, by which ports, with which addresses, and that nothing is left
// or lost when things go wrong. The agent runs in the test's own process, on a
// host that package world makes; the same tests run inside virtual machines
// under other kernels.
package modes_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/vm"
)

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

// TestInGuests repeats what looks at each mode's core under the kernels of Debian. In make test, it
// leaves out what is the agent's work alone, repetitions of the same guards, and what every kernel
// counts or sends alike.
func TestInGuests(t *testing.T) {
	soak.Turn(t, 2)
	small := "^TestIsolation$/^bridge-routed$|^TestPorts$/^bridge_nf$|^TestPolicyTable$"
	g := vm.Guest{Small: map[string]string{"6.12": small}}
	g.RunEverywhere(t, "^Test(Reach|MTU|Inside|SecondNetwork|Ports|PortOfHost|Isolation|Internal|Floor|Quiet|NoNeighbourTraffic|Broadcast|PolicyTable)$")
}

// TestMoreInGuests repeats what looks at containers on the parent's LAN; with make soak also at
// several networks of one container, and at the agent's care for its objects.
func TestMoreInGuests(t *testing.T) {
	soak.Turn(t, 0)
	small := "Macvlan|MacvlanSubmodes|Reboot"
	g := vm.Guest{Small: map[string]string{"6.1": "^Test(" + small + ")$"}}
	g.RunEverywhere(t, "^Test("+small+"|MacvlanNameOfHost|MacvlanOneMAC|MacvlanAnnounced|MacvlanLater|DefaultRoute|DriftInside|Gone|ComesBack|Drift|Flush|Restart|FirstPacket)$")
}

var ctx = context.Background()

// modes are those in which containers have a stack of their own.
var modes = []string{"bridge", "routed"}

// each runs a test in every mode.
func each(t *testing.T, test func(t *testing.T, mode string)) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) { test(t, mode) })
	}
}

// one is each; in make test, it runs the test in one of the modes.
func one(t *testing.T, test func(t *testing.T, mode string)) {
	for _, mode := range soak.OneOf(t, modes...) {
		t.Run(mode, func(t *testing.T) { test(t, mode) })
	}
}

// wantCode fails the test unless the error has the code.
func wantCode(t *testing.T, err error, code heddle.Code) {
	t.Helper()
	if !errors.Is(err, code.Sentinel()) {
		t.Errorf("got error %v, want %s", err, code)
	}
}

// all joins addresses.
func all(some ...[]netip.Addr) (joined []netip.Addr) {
	for _, s := range some {
		joined = append(joined, s...)
	}
	return joined
}
