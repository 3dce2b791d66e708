// Package namespace makes network namespaces for the tests of a crowd: they are a crowd's own (crowd/socket), and end with the
// test.
package namespace

import (
	"os"
	"os/exec"
	"testing"

	"github.com/heddle-network/heddle/crowd/socket"
)

// Holder is one that is closed when the test ends. Without root the test is skipped.
func Holder(t testing.TB) *socket.Holder {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making namespaces needs root")
	}
	h, err := socket.NewHolder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// In makes a namespace of a holder, in which loopback is down.
func In(t testing.TB, h *socket.Holder) socket.Namespace {
	t.Helper()
	n, err := h.New()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// New makes a namespace with a holder of its own, in which loopback is up.
func New(t testing.TB) socket.Namespace {
	t.Helper()
	n := In(t, Holder(t))
	if out, err := exec.Command("nsenter", "--net="+n.Path(), "ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return n
}
