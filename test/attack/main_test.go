// Package attack_test lets a container with raw sockets attack its neighbours
// and its host. Every attack is shown twice: it fails against the guard, and a
// counter says why; and it works when the guard's rules are taken away, or the
// test would prove nothing.
package attack_test

import (
	"os"
	"testing"

	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/forge"
	"github.com/heddle-network/heddle/test/vm"
)

func TestMain(m *testing.M) {
	lab.Dispatch(os.Args[1:])
	forge.Dispatch(os.Args[1:])
	os.Exit(cell.Main(m))
}

// TestInGuests repeats all attacks under the kernels of Debian, in three guests
// each: where the processor is emulated, they take minutes.
func TestInGuests(t *testing.T) {
	for modes, version := range map[string]string{"bridge": "6.1", "(bridge_nf|macvlan|direct|routed)": "6.12"} {
		t.Run(modes, func(t *testing.T) { vm.RunInGuest(t, version, "^TestAttacks$/^"+modes+"$") })
	}
	t.Run("overlay", func(t *testing.T) { vm.RunInGuest(t, "6.1", "^TestSpanAttacks$") })
}
