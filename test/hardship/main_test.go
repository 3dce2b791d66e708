// Package hardship_test runs a real agent under bad conditions: full disks,
// broken records, a second agent, callers without rights, reboots, storms. The
// law of all of it: containers that run keep their traffic, and what the agent
// cannot do it says, whole or not at all.
package hardship_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
)

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

var ctx = context.Background()

// eachMode runs a test with networks of both modes that have addresses; in make test, of one of them.
func eachMode(t *testing.T, test func(t *testing.T, mode string)) {
	cell.Need(t)
	for _, mode := range soak.OneOf(t, "bridge", "routed") {
		t.Run(mode, func(t *testing.T) { test(t, mode) })
	}
}

// folder is an agent's folder for the length of the test; whatever a killed
// agent has left in the kernel is removed at its end.
func folder(t testing.TB) string {
	t.Helper()
	wipe(t)
	t.Cleanup(func() { wipe(t) })
	dir := t.TempDir()
	cell.Must(t, os.Chmod(filepath.Dir(dir), 0o755)) // callers without rights come as far as the socket
	cell.Must(t, os.Mkdir(filepath.Join(dir, "state"), 0o755))
	cell.Must(t, os.Mkdir(filepath.Join(dir, "run"), 0o755))
	return dir
}

// wipe removes all that bears heddle's marks, with the system's own tools.
func wipe(t testing.TB) {
	t.Helper()
	cell.Sh(t, `for l in $(ip -br link | grep -oE '^h(bl|[bdsm])[0-9a-f]{10}[0-9a-f]*[ab]?'); do ip link del $l 2>/dev/null || true; done
		for f in inet bridge; do nft delete table $f heddle 2>/dev/null || true; done
		for f in -4 -6; do ip $f route flush table all proto 104 2>/dev/null || true; done`)
}

// network is a wish for a network of the mode; number keeps several apart.
func network(mode string, number int) heddle.Network {
	return heddle.Network{Name: fmt.Sprint("net", number), Mode: mode, Subnets: []netip.Prefix{
		netip.MustParsePrefix(fmt.Sprintf("10.%d.0.0/16", 20+number)), netip.MustParsePrefix(fmt.Sprintf("fd20:%d::/64", number))}}
}

func createNetwork(t testing.TB, a *cell.Agent, mode string, number int) {
	t.Helper()
	_, _, err := a.CreateNetwork(ctx, network(mode, number), false)
	cell.Must(t, err)
}

func endpointID(pod string) heddle.EndpointID {
	return heddle.EndpointID{Container: pod, IfName: "eth0"}
}

// tryAttach connects the pod's namespace to a network.
func tryAttach(a *cell.Agent, number int, pod string) (heddle.AttachReply, error) {
	return a.Attach(ctx, heddle.AttachRequest{Network: fmt.Sprint("net", number), ID: endpointID(pod), Netns: "/run/netns/" + pod})
}

// attach makes a pod for the length of the test and connects it.
func attach(t testing.TB, a *cell.Agent, number int, pod string) heddle.Endpoint {
	t.Helper()
	cell.Netns(t, pod)
	r, err := tryAttach(a, number, pod)
	cell.Must(t, err)
	return r.Endpoint
}

// detach removes a pod's endpoint, which must be there.
func detach(t testing.TB, a *cell.Agent, pod string) {
	t.Helper()
	if found, err := a.Detach(ctx, endpointID(pod)); err != nil || !found {
		t.Errorf("detach %s: found %v, error %v", pod, found, err)
	}
}

// wantCode fails the test unless the error has the code and the exit code.
func wantCode(t testing.TB, err error, code heddle.Code, kind heddle.Kind) {
	t.Helper()
	known, _ := err.(*heddle.Error)
	if known == nil || known.Code != code || known.Kind != kind {
		t.Errorf("want %s with exit code %d, have %v", code, kind, err)
	}
}

func addressesOf(e heddle.Endpoint) (all []netip.Addr) {
	for _, a := range e.Addrs {
		all = append(all, a.Addr())
	}
	return all
}
