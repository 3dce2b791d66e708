// Package attack_test lets a container with raw sockets attack its neighbours
// and its host. Every attack is shown twice: it fails against the guard, and a
// counter says why; and it works when the guard's rules are taken away, or the
// test would prove nothing.
package attack_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/forge"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/vm"
)

func TestMain(m *testing.M) {
	lab.Dispatch(os.Args[1:])
	forge.Dispatch(os.Args[1:])
	os.Exit(cell.Main(m))
}

// These are the own attacks in mode ipvlan, which only guests have everywhere.
const ownInGuest, subModesInGuest, underlayInGuest = "(device|link|resolver|host$|drops?$)", "sub-mode", "VXLAN.as.*NIC$"

// TestInGuests repeats under the kernels of Debian what depends most on the kernel: the
// attacks of TestAttacks, those by tunnels, those in mode ipvlan, and some on NAT, where
// ports are chosen and connections are found by the kernel. Where the processor is
// emulated, a guest takes minutes: make test has each under one of them, and of those that
// this machine's kernel runs as well a part, and no control; the three guests take turns. An
// attack in the sub-modes of ipvlan is mounted in one of them at least.
func TestInGuests(t *testing.T) {
	cell.Need(t)
	own := []string{cell.Build(t, "heddled")}
	ownAttack := func(name, rest string) string { return "^TestOwnAttacks$/" + name + "/" + rest }
	ipvlan := ownAttack("("+ownInGuest+"|"+subModesInGuest+")", "^ipvlan$")
	underlay := ownAttack(underlayInGuest, "^ipvlan$")
	nat := ownAttack("^(over_a_port_of_the_host|connection_of_one_who_left|a_container_calls_the_store_and_the_join_door_of_its_host)$", "^bridge$")
	const guarded = "/^guarded$"
	const neighbours = "/(ARP|N[AS]_|MAC|link|tag|connection|translation|VXLAN|fragment)" // where kernels differ most
	for name, g := range map[string]struct {
		turn                 int
		version, small, full string
	}{
		"attacks": {0, "6.1", "^TestAttacks$/^bridge$" + guarded + neighbours + "|" + nat + guarded,
			"^TestAttacks$/^(bridge|bridge_nf|macvlan|direct|routed|overlay)$|" + nat},
		"overlay": {1, "6.1", "^TestSpanAttacks$/^over_IPv4$" + guarded + "/^IPv4_inside$|^TestAttacks$/^ipvlan$" + guarded + "|^TestOwnErrors$/^ipvlan$|" + underlay + guarded,
			"^TestSpanAttacks$|^(TestAttacks|TestOwnErrors)$/^ipvlan$|" + underlay},
		"ipvlan": {2, "6.12", strings.Join([]string{ownAttack(ownInGuest, "^ipvlan$") + guarded,
			ownAttack("^ipvlan_device", "^ipvlan$/^control$"), // which no other mode has
			ownAttack("^VXLAN.*sub-mode", "^ipvlan$") + guarded + "/^over_IPv4$",
			ownAttack("^metadata.*sub-mode_l3$", "^ipvlan$") + guarded,
			ownAttack("^a_container_calls.*sub-mode_l3s$", "^ipvlan$") + guarded}, "|"), ipvlan},
	} {
		t.Run(name, func(t *testing.T) {
			soak.Turn(t, g.turn)
			vm.Guest{Own: own, Small: map[string]string{g.version: g.small}}.RunEverywhere(t, g.full)
		})
	}
}

// TestGuestsHaveIPvlan: with make soak, a guest mounts each own attack that is listed for mode ipvlan,
// which this machine's kernel may lack. In make test, some are left out in sub-modes.
func TestGuestsHaveIPvlan(t *testing.T) {
	mounted := regexp.MustCompile(strings.Join([]string{ownInGuest, subModesInGuest, underlayInGuest}, "|"))
	for _, a := range ownAttacks() {
		if slices.Contains(a.listing().modes, isIPvlan) && !mounted.MatchString(a.name) {
			t.Errorf("no guest mounts %q in mode ipvlan", a.name)
		}
	}
}
