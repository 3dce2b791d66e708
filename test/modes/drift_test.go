package modes_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/world"
)

// damage is something that somebody does to one object of ours.
type damage struct{ object, command string }

// damages lists one for every object that the plans of a network and an
// endpoint can have, written from what the tools show, not from the plans.
func damages(n heddle.Network, p *world.Pod, mode string) []damage {
	port, group := p.Port(), fmt.Sprintf("%#x", n.Group())
	all := []damage{
		{"floor 4", fmt.Sprintf("ip route del unreachable %s metric 4294967295", n.Subnets[0])},
		{"floor 6", fmt.Sprintf("ip -6 route del unreachable %s metric 4294967295", n.Subnets[1])},
		{"forwarding 4", "sysctl -qw net.ipv4.ip_forward=0"},
		{"forwarding 6", "sysctl -qw net.ipv6.conf.all.forwarding=0"},
		{"map element to", "nft delete element inet heddle to { " + group + " }"},
		{"map element from", "nft delete element inet heddle from { " + group + " }"},
		{"published port 4", "nft delete element inet heddle any4 { tcp . 8080 }"},
		{"published port 6", "nft delete element inet heddle any6 { tcp . 8080 }"},
		{"rule of the network", "nft flush chain inet heddle " + n.ChainName("to")},
		{"chain forward", "nft flush chain inet heddle forward"},
		{"chain guard", "nft flush chain inet heddle guard"},
		{"table inet", "nft delete table inet heddle"},
		{"port down", "ip link set " + port + " down"},
		{"group of the port", "ip link set " + port + " group 0"},
		{"alias of the port", "ip link set " + port + " alias ''"},
		{"MTU of the port", "ip link set " + port + " mtu 1280"},
		{"the pair", "ip link del " + port},
	}
	if mode == "bridge" {
		return append(all, bridgeDamages(n, p)...)
	}
	return append(all,
		damage{"host route 4", fmt.Sprintf("ip route del %s/32 dev %s", p.V4(), port)},
		damage{"host route 6", fmt.Sprintf("ip -6 route del %s/128 dev %s", p.V6(), port)},
		damage{"gateway address", fmt.Sprintf("ip address del %s/32 dev %s", n.Gateways[0], port)},
		damage{"gateway link-local", "ip address del fe80::1/64 dev " + port},
		damage{"neighbour 4", fmt.Sprintf("ip neigh del %s dev %s", p.V4(), port)},
		damage{"neighbour 6", fmt.Sprintf("ip neigh del %s dev %s", p.V6(), port)},
		damage{"guard element", fmt.Sprintf(`nft delete element inet heddle macs '{ "%s" . %s }'`, port, p.Endpoint.MAC)},
	)
}

func bridgeDamages(n heddle.Network, p *world.Pod) []damage {
	port, bridge := p.Port(), n.BridgeName(0)
	return []damage{
		{"table bridge", "nft delete table bridge heddle"},
		{"chain bridge guard", "nft flush chain bridge heddle guard"},
		{"MAC of the guard", fmt.Sprintf(`nft delete element bridge heddle macs '{ "%s" . %s }'`, port, p.Endpoint.MAC)},
		{"address of the guard", fmt.Sprintf(`nft delete element bridge heddle addrs6 '{ "%s" . %s }'`, port, p.V6())},
		{"directed ARP", fmt.Sprintf("nft delete element bridge heddle who4 '{ %#x . %s }'", n.Group(), p.V4())},
		{"forwarding entry", fmt.Sprintf("bridge fdb del %s dev %s master", p.Endpoint.MAC, port)},
		{"neighbour 4", fmt.Sprintf("ip neigh del %s dev %s", p.V4(), bridge)},
		{"neighbour 6", fmt.Sprintf("ip neigh del %s dev %s", p.V6(), bridge)},
		{"gateway 4", fmt.Sprintf("ip address del %s/16 dev %s", n.Gateways[0], bridge)},
		{"gateway 6", fmt.Sprintf("ip address del %s/64 dev %s", n.Gateways[1], bridge)},
		{"port out of the bridge", "ip link set " + port + " nomaster"},
		{"port's switches", "bridge link set dev " + port + " learning on flood on mcast_flood on"},
		{"bridge down", "ip link set " + bridge + " down"},
		{"MAC of the bridge", "ip link set " + bridge + " address 0e:00:00:00:00:01"},
		{"route_localnet", "sysctl -qw net/ipv4/conf/" + bridge + "/route_localnet=0"},
		{"bridge", "ip link del " + bridge},
	}
}

// patrol is how often the agent comes by without an event.
const patrol = 6 * time.Second

// TestDrift: whatever somebody removes or changes is back within a second, and
// a ping between two other containers does not notice, or soon goes on.
func TestDrift(t *testing.T) {
	each(t, func(t *testing.T, mode string) {
		w := world.New(t)
		n := w.Network(t, "net", mode, world.With("masquerade=true"))
		a, b := w.Pod(t, "a", "net", world.Publish("8080:80/tcp")), w.Pod(t, "b", "net")
		a.Reaches(t, b.Addrs()...)
		time.Sleep(time.Second)
		whole := settled(t, w, a)
		for _, d := range damages(n, a, mode) {
			w.Host.Sh(t, "%s", d.command)
			took := world.Within(t, world.RepairTime, d.object+" is back", func() error { return intact(w, a) })
			t.Logf("%-24s back after %4d ms", d.object, took.Milliseconds())
			world.Soon(t, "a reaches b after "+d.object, func() error {
				return errors.Join(a.Ping(b.V4(), "-W0.3"), a.Ping(b.V6(), "-W0.3"), w.Host.Ping(a.V4(), "-W0.3"))
			})
			if t.Failed() {
				break
			}
		}
		if w.Status().Repairs == 0 {
			t.Error("the status counts no repairs")
		}
		world.Soon(t, "all is as before", func() error { return sameLines(whole, settled(t, w, a)) })
	})
}

// TestDriftInside: what is removed inside a container, where the agent does not
// look by itself, is named by a check and back after the next attach.
func TestDriftInside(t *testing.T) {
	each(t, func(t *testing.T, mode string) {
		w := world.New(t)
		n := w.Network(t, "net", mode, world.With("masquerade=true"))
		a := w.Pod(t, "a", "net")
		for _, command := range []string{"ip address flush dev eth0 scope global", "ip route del default",
			"ip link set eth0 down", "sysctl -qw net.ipv6.conf.eth0.accept_ra=1", "ip link set lo down"} {
			a.Sh(t, "%s", command)
			if found, err := w.Check(a.Endpoint.ID); err != nil || len(found) == 0 {
				t.Errorf("after %q the check finds %v, %v", command, found, err)
			}
			_, err := w.Attach(ctx, w.Request(a.Place, "net"))
			must(t, err)
			must(t, intact(w, a))
			world.Soon(t, "a is whole after "+command, func() error {
				return errors.Join(a.Ping(n.Gateways[0], "-W0.3"), a.Ping(n.Gateways[1], "-W0.3"), a.Ping(world.Outside4, "-W0.3"), a.Ping(loopback4, "-W0.3"))
			})
		}
	})
}

// intact asks the agent whether anything is missing or different.
func intact(w *world.World, a *world.Pod) error {
	found, err := w.Check(heddle.EndpointID{})
	if err != nil || len(found) > 0 {
		return fmt.Errorf("%v, %v", found, err)
	}
	return nil
}

// settled is a dump without what a new device has of its own: numbers, and the
// order in which things were made.
func settled(t *testing.T, w *world.World, a *world.Pod) string {
	t.Helper()
	return world.Unnumbered(w.Host.Dump(t) + a.Dump(t))
}

// sameLines compares two dumps as sets of lines.
func sameLines(before, after string) error {
	have := map[string]int{}
	for line := range strings.Lines(before) {
		have[strings.Join(strings.Fields(line), " ")]++
	}
	for line := range strings.Lines(after) {
		have[strings.Join(strings.Fields(line), " ")]--
	}
	var diff []string
	for line, n := range have {
		if n != 0 {
			diff = append(diff, fmt.Sprintf("%+d %s", -n, line))
		}
	}
	if len(diff) > 0 {
		return errors.New(strings.Join(diff, "\n"))
	}
	return nil
}

// TestFlush: "nft flush ruleset" is answered within a second, and isolation
// with it; traffic that may pass never stops.
func TestFlush(t *testing.T) {
	each(t, func(t *testing.T, mode string) {
		w := world.New(t)
		w.Network(t, "first", mode)
		w.Network(t, "second", mode)
		a, b, c := w.Pod(t, "a", "first"), w.Pod(t, "b", "first"), w.Pod(t, "c", "second")
		for _, to := range c.Addrs() {
			a.Silent(t, to)
		}
		for round := range 3 {
			w.Host.Sh(t, "nft flush ruleset")
			world.Within(t, world.RepairTime, fmt.Sprintf("isolation after flush %d", round), func() error {
				for _, to := range c.Addrs() {
					if a.Ping(to, "-W0.1") == nil {
						return fmt.Errorf("%s is reached", to)
					}
				}
				return intact(w, a)
			})
			a.Reaches(t, b.Addrs()...)
		}
		apart(t, a, c)
	})
}

// TestDriftWhileBusy: a host on which containers come and go all the time is
// repaired too, if less quickly.
func TestDriftWhileBusy(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	a, spare := w.Pod(t, "a", "net"), world.Namespace(t, "spare")
	stop, done := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		for stop.Err() == nil {
			_, err := w.Attach(ctx, w.Request(spare, "net"))
			_, err2 := w.Detach(ctx, heddle.EndpointID{Container: "spare", IfName: "eth0"})
			if errors.Join(err, err2) != nil {
				ended <- errors.Join(err, err2)
				return
			}
		}
		ended <- nil
	}()
	time.Sleep(200 * time.Millisecond)
	w.Host.Sh(t, "ip link del %s", a.Port())
	took := world.Within(t, patrol*world.Slowness, "the pair is back", func() error { return w.Host.Ping(a.V4(), "-W0.1") })
	t.Logf("back after %v", took.Round(time.Millisecond))
	done()
	must(t, <-ended)
}
