package attack_test

import (
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/test/world"
)

// storeAttacks call the store, and the door where hosts join, from a container: on
// its own host and, unless the LAN leads there without the host, on another.
func storeAttacks() []ownAttack {
	return []ownAttack{
		{class: "keeper", name: "a container calls the store and the join door of its host", modes: "bridge routed overlay macvlan",
			mount: func(t *testing.T, mode string, open bool) bool {
				return callsStore(t, mode, open, world.Host4, world.Host6)
			}},
		{class: "keeper", name: "a container calls the store and the join door of another host", modes: "bridge routed overlay",
			mount: func(t *testing.T, mode string, open bool) bool {
				return callsStore(t, mode, open, world.Outside4, world.Outside6)
			}},
	}
}

// callsStore reports whether a container is answered at a port of the store.
func callsStore(t *testing.T, mode string, open bool, at ...netip.Addr) bool {
	t.Helper()
	w := world.New(t)
	n := w.Plan("net", mode, world.With("masquerade=true"))
	if mode == isMacvlan {
		n = w.Plan("net", mode, onLAN)
	}
	_, _, err := w.CreateNetwork(n, false)
	made(t, mode, err)
	pod := w.Pod(t, "pod", "net")
	ports := []uint16{heddle.DoorPort, heddle.StoreClientPort, heddle.StorePeerPort}
	for _, port := range ports {
		for _, p := range []struct {
			world.Place
			addrs []netip.Addr
		}{{w.Host, []netip.Addr{world.Host4, world.Host6}}, {w.Outside, []netip.Addr{world.Outside4, world.Outside6}}} {
			for _, a := range p.addrs {
				p.Listen(t, "tcp", netip.AddrPortFrom(a, port))
			}
		}
	}
	pod.Reaches(t, at...)
	unwatched(t, w)
	if !open {
		joined(t)
	}
	e := eye{wanted: open}
	answered := 0
	for _, a := range at {
		for _, port := range ports {
			if _, err := pod.AskFrom("tcp", netip.AddrPort{}, netip.AddrPortFrom(a, port), max(e.limit(), world.Refusal)); err == nil {
				answered++
			}
		}
	}
	return answered == len(at)*len(ports) || !open && answered > 0
}

// joined makes the host a member of a cluster with the outside as its peer: what the
// firewall of one has, without the tunnels. An agent that starts removes it.
func joined(t *testing.T) {
	t.Helper()
	f := &heddle.Fabric{Cluster: "c", VNI: 7, Port: heddle.DefaultTunnelPort}
	s := heddle.State{Firewall: heddle.TunnelChains(f), Elements: heddle.TunnelWays(f)}
	for family, a := range map[string]netip.Addr{"4": world.Outside4, "6": world.Outside6} {
		s.Elements = append(s.Elements, heddle.Element{Family: "inet", Set: "hosts" + family, Match: []string{a.String()}})
	}
	k, err := kernel.Open()
	must(t, err)
	defer k.Close()
	_, err = k.Apply(heddle.Plan{Host: s}, nil)
	must(t, err)
}

// onLAN has containers be neighbours of the host on its LAN.
func onLAN(n *heddle.Network) {
	n.Subnets, n.Ranges = nil, lanRanges
}
