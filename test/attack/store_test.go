package attack_test

import (
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/path"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// storeAttacks call the store, and the door where hosts join, from a container: on
// its own host and, unless the LAN leads there without the host, on another.
func storeAttacks() []ownAttack {
	own, other := []netip.Addr{world.Host4, world.Host6}, []netip.Addr{world.Outside4, world.Outside6}
	all := []ownAttack{
		{name: "a container calls the store and the join door of its host", modes: "bridge routed overlay macvlan ipvlan", mount: callsStore(own)},
		{name: "a container calls the store and the join door of another host", modes: "bridge routed overlay", mount: callsStore(other)},
	}
	for _, sub := range routedByHost {
		all = append(all, ownAttack{name: "a container calls the store and the join door of its host, in sub-mode " + sub, modes: isIPvlan,
			mount: callsStore(own, inSubMode(sub))})
	}
	for i := range all {
		all[i].class = "keeper"
	}
	return all
}

// callsStore has a container call the ports of the store at the addresses. It succeeds
// if it is answered at one of them.
func callsStore(at []netip.Addr, options ...world.NetworkOption) func(t *testing.T, mode string, open bool) bool {
	return func(t *testing.T, mode string, open bool) bool { return answersStore(t, mode, open, at, options) }
}

func answersStore(t *testing.T, mode string, open bool, at []netip.Addr, options []world.NetworkOption) bool {
	t.Helper()
	w := world.New(t)
	n := w.Plan("net", mode, world.With("masquerade=true"))
	if mode == isMacvlan || mode == isIPvlan {
		n = w.Plan("net", mode, append(options, onLAN)...)
	}
	_, _, err := w.CreateNetwork(n, false)
	made(t, mode, err)
	pod := w.Pod(t, "pod", "net")
	ports := []uint16{heddle.DoorPort, heddle.StoreClientPort, heddle.StorePeerPort}
	for _, port := range ports {
		for _, p := range []struct {
			world.Netns
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
	f := &heddle.Fabric{Cluster: "c", VNI: 7, Port: path.Default().Port()}
	s := path.Default().Host(heddle.HostFacts{Fabric: f})
	for family, a := range map[string]netip.Addr{"4": world.Outside4, "6": world.Outside6} {
		s.Elements = append(s.Elements, heddle.Element{Family: "inet", Set: "hosts" + family, Match: []string{a.String()}})
	}
	k, err := kernel.Open()
	cell.Must(t, err)
	defer k.Close()
	_, err = k.Apply(heddle.Plan{Host: s}, nil)
	cell.Must(t, err)
}

// onLAN has containers be neighbours of the host on its LAN.
func onLAN(n *heddle.Network) {
	n.Subnets, n.Ranges = nil, lanRanges
}
