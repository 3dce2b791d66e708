// Package attack_test lets a container with raw sockets attack its neighbours
// and its host. Every attack is shown twice: it fails against the guard, and a
// counter says why; and it works when the guard's rules are taken away, or the
// test would prove nothing.
package attack_test

import (
	"os"
	"regexp"
	"slices"
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

// ownInGuest and underlayInGuest are the own attacks in mode ipvlan, which only guests
// have everywhere; each is mounted under one kernel.
const ownInGuest, underlayInGuest = "(device|link|store|metadata|sub-mode)", "VXLAN.as.*NIC$"

// TestInGuests repeats under the kernels of Debian what depends most on the kernel: the
// attacks of TestAttacks, each under one of them, those by tunnels, those in mode ipvlan,
// and some on NAT. Where the processor is emulated, a guest takes minutes; the other
// tests run under this machine's kernel alone.
func TestInGuests(t *testing.T) {
	for modes, version := range map[string]string{"bridge": "6.1", "(bridge_nf|macvlan|direct|routed|overlay)": "6.12"} {
		t.Run(modes, func(t *testing.T) { vm.RunInGuest(t, version, "^TestAttacks$/^"+modes+"$") })
	}
	t.Run("ipvlan", func(t *testing.T) { vm.RunInGuest(t, "6.12", "^TestOwnAttacks$/"+ownInGuest+"/^ipvlan$") })
	t.Run("overlay", func(t *testing.T) { vm.RunInGuest(t, "6.1", "^TestSpanAttacks$") })
	t.Run("ipvlan", func(t *testing.T) {
		vm.RunInGuest(t, "6.1", "^(TestAttacks|TestOwnErrors|TestOwnAttacks)$/(^ipvlan$|"+underlayInGuest+")")
	})
	// how ports are chosen and connections are found is the kernel's
	t.Run("nat", func(t *testing.T) {
		vm.RunInGuest(t, "6.1", "^TestOwnAttacks$/^(over_a_port_of_the_host|connection_of_one_who_left|a_container_calls_the_store_and_the_join_door_of_its_host)$/^bridge$")
	})
}

// TestGuestsHaveIPvlan: a guest mounts each own attack that is listed for mode ipvlan,
// which this machine's kernel may lack.
func TestGuestsHaveIPvlan(t *testing.T) {
	mounted := regexp.MustCompile(ownInGuest + "|" + underlayInGuest)
	for _, a := range ownAttacks() {
		if slices.Contains(a.listing().modes, isIPvlan) && !mounted.MatchString(a.name) {
			t.Errorf("no guest mounts %q in mode ipvlan", a.name)
		}
	}
}
