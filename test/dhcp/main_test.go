// Package dhcp_test has addresses given out on a LAN by servers that are real (dnsmasq), and by one
// that does what it is told: late, wrong, never. The agent runs in the test's process, on a host that
// package world makes, or as a process that is killed.
package dhcp_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

func TestMain(m *testing.M) {
	lab.Dispatch(os.Args[1:])
	os.Exit(cell.Main(m))
}

var ctx = context.Background()

// byDHCP has a network's addresses come from the LAN's server.
func byDHCP(n *heddle.Network) {
	n.Subnets = nil
	world.With("addresses=dhcp")(n)
}

func wantCode(t *testing.T, err error, code heddle.Code) {
	t.Helper()
	if !errors.Is(err, code.Sentinel()) {
		t.Errorf("got error %v, want %s", err, code)
	}
}
