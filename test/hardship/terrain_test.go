package hardship_test

import (
	"fmt"
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
	// prepare makes what a network of that number stands on.
	prepare func(t testing.TB, number int)
	// wish is the network, apart from its name.
	wish func(number int) heddle.Network
}

// terrains has a line for each mode that the agent offers.
var terrains = []terrain{
	{mode: "host", prepare: nothing, wish: func(int) heddle.Network { return heddle.Network{Mode: "host"} }},
	{mode: "bridge", stack: true, ports: true, prepare: nothing, wish: func(n int) heddle.Network { return network("bridge", n) }},
	{mode: "routed", stack: true, ports: true, prepare: nothing, wish: func(n int) heddle.Network { return network("routed", n) }},
	{mode: "macvlan", stack: true, prepare: makeLAN, wish: func(n int) heddle.Network {
		w := network("macvlan", n)
		w.Parent = fmt.Sprint("lan", n)
		return w
	}},
}

func nothing(testing.TB, int) {}

// makeLAN makes an interface on a LAN on which nobody else is, with addresses
// of the network's subnets.
func makeLAN(t testing.TB, number int) {
	t.Helper()
	cell.Sh(t, `ip link add lan%[1]d type veth peer name wire%[1]d
		ip addr add 10.%[2]d.255.1/16 dev lan%[1]d; ip addr add fd20:%[1]d::ffff:1/64 dev lan%[1]d nodad
		ip link set lan%[1]d addrgenmode none up; ip link set wire%[1]d addrgenmode none up`, number, 20+number)
	t.Cleanup(func() { cell.TrySh("ip link del lan%d", number) })
}

// everyMode fails the test if the agent offers a mode that terrains lacks.
func everyMode(t testing.TB, a *cell.Agent) {
	t.Helper()
	offered, err := a.Modes(ctx)
	must(t, err)
	for _, mode := range offered {
		known := false
		for _, g := range terrains {
			known = known || g.mode == mode
		}
		if !known {
			t.Errorf("the agent offers mode %s, which terrains lacks", mode)
		}
	}
	if len(offered) != len(terrains) {
		t.Errorf("the agent offers %v, terrains has %d", offered, len(terrains))
	}
}
