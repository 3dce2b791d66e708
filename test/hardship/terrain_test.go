package hardship_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

// terrain is a mode as the storm and the crowd find it.
type terrain struct {
	mode string
	// stack says that containers have one of their own.
	stack bool
	// ports says that they can publish ports.
	ports bool
	// prepare makes what a network of that number stands on, for so many pairs
	// of containers.
	prepare func(t testing.TB, number, pairs int)
	// wish is the network, apart from its name.
	wish func(number, pairs int) heddle.Network
}

// terrains has a line for each mode that the agent offers.
var terrains = []terrain{
	{mode: "host", prepare: nothing, wish: func(int, int) heddle.Network { return heddle.Network{Mode: "host"} }},
	{mode: "bridge", stack: true, ports: true, prepare: nothing, wish: func(n, _ int) heddle.Network { return network("bridge", n) }},
	{mode: "routed", stack: true, ports: true, prepare: nothing, wish: func(n, _ int) heddle.Network { return network("routed", n) }},
	{mode: "overlay", stack: true, ports: true, prepare: nothing, wish: func(n, _ int) heddle.Network { return network("overlay", n) }},
	{mode: "macvlan", stack: true, prepare: makeLAN, wish: func(n, _ int) heddle.Network {
		w := network("macvlan", n)
		w.Parent = fmt.Sprint("lan", n)
		return w
	}},
	{mode: "direct", stack: true, prepare: makeNICs, wish: func(n, pairs int) heddle.Network {
		w := network("direct", n)
		w.Gateways = []netip.Addr{w.Subnets[0].Addr().Next(), w.Subnets[1].Addr().Next()}
		w.Options = map[string]string{"nics": strings.Join(nics(n, pairs), ",")}
		return w
	}},
}

func nothing(testing.TB, int, int) {}

// makeLAN makes an interface on a LAN on which nobody else is, with addresses
// of the network's subnets.
func makeLAN(t testing.TB, number, _ int) {
	t.Helper()
	cell.Sh(t, `ip link add lan%[1]d type veth peer name wire%[1]d
		ip addr add 10.%[2]d.255.1/16 dev lan%[1]d; ip addr add fd20:%[1]d::ffff:1/64 dev lan%[1]d nodad
		ip link set lan%[1]d addrgenmode none up; ip link set wire%[1]d addrgenmode none up`, number, 20+number)
	t.Cleanup(func() { cell.TrySh("ip link del lan%d", number) })
}

// nics names a network's NICs; each is wired to the next or the one before.
func nics(number, pairs int) (names []string) {
	for i := range pairs {
		names = append(names, fmt.Sprintf("nic%d.%da", number, i), fmt.Sprintf("nic%d.%db", number, i))
	}
	return names
}

func makeNICs(t testing.TB, number, pairs int) {
	t.Helper()
	names := nics(number, pairs)
	for i := 0; i < len(names); i += 2 {
		a, b := names[i], names[i+1]
		cell.Sh(t, "ip link add %s type veth peer name %s", a, b)
		for _, nic := range []string{a, b} {
			cell.Sh(t, "ip link set %s addrgenmode none up", nic)
		}
		t.Cleanup(func() { cell.TrySh("ip link del %s", a) })
	}
}

// elsewhere are the modes that not every kernel has, with suites of their own.
var elsewhere = []string{"ipvlan"}

// everyMode fails the test if the agent offers a mode that terrains lacks.
func everyMode(t testing.TB, a *cell.Agent) {
	t.Helper()
	offered, err := a.Modes(ctx)
	cell.Must(t, err)
	for _, mode := range offered {
		known := slices.Contains(elsewhere, mode)
		for _, g := range terrains {
			known = known || g.mode == mode
		}
		if !known {
			t.Errorf("the agent offers mode %s, which terrains lacks", mode)
		}
	}
	if len(offered) != len(terrains)+len(elsewhere) {
		t.Errorf("the agent offers %v, terrains has %d", offered, len(terrains))
	}
}
