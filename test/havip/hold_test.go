package havip_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/havip"
	"github.com/heddle-network/heddle/policy"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

var both = []netip.Addr{vip4, vip6}

// TestHolder: who announces an address has it, whatever neighbours remember: for containers of the network, the host, and the outside by a
// published port. The operator can give it to another member. It stays where it is without an agent and with the next one, and is
// free when its holder goes.
func TestHolder(t *testing.T) {
	for _, kind := range []string{"containers", "machines"} {
		t.Run(kind, func(t *testing.T) {
			w := world.New(t)
			w.Network(t, "net", "bridge")
			add := w.Pod
			if kind == "machines" {
				add = w.Machine
			}
			one, two, client := add(t, "one", "net", balancer), add(t, "two", "net", balancer), w.Pod(t, "client", "net")
			create(t, w, "net")
			serve(t, one)
			serve(t, two)
			holds := func(p *world.Pod) {
				t.Helper()
				held(t, w, p)
				answers(t, p.Name, port, both, client.Netns, w.Host)
				answers(t, p.Name, published, []netip.Addr{world.Host4, world.Host6}, w.Outside)
				w.AuditEmpty(t)
			}
			// a neighbour that never learns
			client.Sh(t, "ip neigh replace %s lladdr %s dev eth0 nud permanent; ip neigh replace %s lladdr %s dev eth0 nud permanent", vip4, one.Endpoint.MAC, vip6, one.Endpoint.MAC)
			held(t, w, nil)
			announce(t, one, both...)
			holds(one)
			announce(t, two, both...)
			holds(two)
			for _, name := range []string{"four", "six"} {
				_, _, err := w.AssignHAVIP(name, one.Endpoint.ID, false)
				cell.Must(t, err)
			}
			holds(one)
			w.Restart(t, func() { answers(t, "one", port, both, client.Netns, w.Host) })
			holds(one)
			announce(t, two, both...)
			holds(two)
			announce(t, one, both...)
			holds(one)
			_, err := w.Detach(t.Context(), one.Endpoint.ID)
			cell.Must(t, err)
			held(t, w, nil)
			announce(t, two, both...)
			holds(two)
			_, err = w.DeleteHAVIP("four", false)
			cell.Must(t, err)
			_, err = w.DeleteHAVIP("six", false)
			cell.Must(t, err)
			w.AuditEmpty(t)
			if rest := w.Host.Sh(t, "nft list ruleset; ip neigh; ip -6 neigh"); strings.Contains(rest, vip4.String()) || strings.Contains(rest, vip6.String()) || strings.Contains(rest, "chain havip") {
				t.Error("something of the addresses is left:\n" + rest)
			}
		})
	}
}

// TestRefused: what cannot be is refused, with nothing changed.
func TestRefused(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	w.Network(t, "far", "routed")
	one, other := w.Pod(t, "one", "net", balancer, world.Publish("8081:1/tcp")), w.Pod(t, "other", "net")
	members := policy.Selector{Labels: map[string]string{"role": "lb"}}
	good := havip.HAVIP{Name: "four", Network: "net", Address: vip4, Members: members}
	refuse := func(code heddle.Code, change func(*havip.HAVIP)) {
		t.Helper()
		h := good
		change(&h)
		if err := make1(w, h); !errors.Is(err, code.Sentinel()) {
			t.Errorf("%+v: %v, want %s", h, err, code)
		}
	}
	refuse(heddle.NoNetwork, func(h *havip.HAVIP) { h.Network = "none" })
	refuse(heddle.BadArgument, func(h *havip.HAVIP) { h.Network = "far" })
	refuse(heddle.BadArgument, func(h *havip.HAVIP) { h.Members = policy.Selector{} })
	refuse(heddle.BadArgument, func(h *havip.HAVIP) { h.Members.Networks = []string{"net"} })
	refuse(heddle.BadName, func(h *havip.HAVIP) { h.Name = "../x" })
	refuse(heddle.AddressTaken, func(h *havip.HAVIP) { h.Address = one.V4() })
	refuse(heddle.AddressTaken, func(h *havip.HAVIP) { h.Address = netip.MustParseAddr("10.20.0.1") })
	refuse(heddle.OutsidePool, func(h *havip.HAVIP) { h.Address = netip.MustParseAddr("10.9.0.1") })
	refuse(heddle.PortTaken, func(h *havip.HAVIP) {
		h.Ports = []heddle.PortMapping{{HostPort: 8081, ContainerPort: 1, Protocol: "tcp"}}
	})
	refuse(heddle.BadPort, func(h *havip.HAVIP) { h.Ports = []heddle.PortMapping{{ContainerPort: 1, Protocol: "tcp"}} })
	if all := w.HAVIPs(); len(all) != 0 {
		t.Errorf("refused, and there all the same: %+v", all)
	}
	_, commands, err := w.CreateHAVIP(good, true)
	if err != nil || !strings.Contains(strings.Join(commands, "\n"), vip4.String()) || len(w.HAVIPs()) != 0 {
		t.Errorf("a dry run: %q, %v", commands, err)
	}
	cell.Must(t, make1(w, good))
	cell.Must(t, make1(w, good)) // the same again
	refuse(heddle.HAVIPExists, func(h *havip.HAVIP) { h.Address = netip.MustParseAddr("10.20.0.101") })
	if _, _, err := w.AssignHAVIP("four", other.Endpoint.ID, false); !errors.Is(err, heddle.BadArgument.Sentinel()) {
		t.Errorf("given to who is no member: %v", err)
	}
	if _, err := w.DeleteHAVIP("five", false); !errors.Is(err, heddle.NoHAVIP.Sentinel()) {
		t.Errorf("one that is not there is deleted: %v", err)
	}
	one.Leave(t)
	other.Leave(t)
	if err := w.DeleteNetwork("net"); !errors.Is(err, heddle.NetworkInUse.Sentinel()) {
		t.Errorf("a network with an address: %v", err)
	}
	// nobody else gets it, also from the next agent
	w.Restart(t, nil)
	if _, err := w.Attach(t.Context(), w.Request(world.NewNetns(t, "late"), "net", world.IP(vip4.String()))); !errors.Is(err, heddle.AddressTaken.Sentinel()) {
		t.Errorf("an endpoint asks for the address: %v", err)
	}
	_, err = w.DeleteHAVIP("four", false)
	cell.Must(t, err)
}
