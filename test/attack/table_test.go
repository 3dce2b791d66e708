package attack_test

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/test/world"
)

// tableAttacks fill tables of the host that are one for all.
func tableAttacks() []attack {
	requests := func(s *scene) [][]byte {
		var all [][]byte
		own, target := s.attacker.Endpoint.MAC, gateway4(s)
		if s.mode == isMacvlan { // whose gateway is not the host
			target = world.Host4
		}
		for i := range flood {
			sender := netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)})
			all = append(all, arp(ether(own, s.gateway(), layers.EthernetTypeARP), request, own, sender, target))
		}
		return all
	}
	absent := func(s *scene) [][]byte {
		var all [][]byte
		base := s.net.Subnets[0].Addr().As4()
		for i := range flood {
			to := netip.AddrFrom4([4]byte{base[0], base[1], 200, byte(i)})
			all = append(all, datagram(ether(s.attacker.Endpoint.MAC, s.gateway(), ip4), s.attacker.V4(), to))
		}
		return all
	}
	flows := func(s *scene) [][]byte {
		var all [][]byte
		for i := range flood {
			e := ether(s.attacker.Endpoint.MAC, s.gateway(), ip4)
			all = append(all, raw(append([]gopacket.SerializableLayer{e}, between(s.attacker.V4(), world.Outside4, uint16(20000+i), 9, nil)...)...))
		}
		return all
	}
	tables := []attack{
		{name: "neighbours made up in ARP requests", modes: both, reason: "spoofed-arp", reasonRouted: none, watch: neighbours("198.18."), frames: requests,
			unguard: func(s *scene) string { return "sysctl -qw net.ipv4.conf." + s.port() + ".arp_filter=0" }},
		{name: "packets to absent neighbours", modes: isRouted, watch: neighbours(".200."), frames: absent,
			certain: "without the guard too, what is not routed to a container has no neighbour"},
		{name: "packets to absent neighbours on a bridge", modes: bridged, watch: absentees, frames: absent,
			limit: firewall.LimitTables},
		{name: "connections to the outside", modes: both, watch: connections, frames: flows,
			limit: firewall.LimitTables},
	}
	for i := range tables {
		tables[i].class = "exhaust"
	}
	return tables
}

// flood is how many entries the attacks want; a tenth of it is success.
const flood = 200

// none is the name of no counter.
const none = "none"

// neighbours watches for entries of the host's neighbour table.
func neighbours(part string) func(t *testing.T, s *scene) func() bool {
	return func(t *testing.T, s *scene) func() bool {
		count := func() int { return strings.Count(s.w.Host.Sh(t, "ip -4 neigh show"), part) }
		before := count()
		return func() bool { return s.sees(func() bool { return count()-before > flood/10 }) }
	}
}

// absentees watches for entries of addresses that nobody has; they have begun
// with the host's search for them.
func absentees(t *testing.T, s *scene) func() bool {
	base := s.net.Subnets[0].Addr().As4()
	return neighbours(fmt.Sprintf("%d.%d.200.", base[0], base[1]))(t, s)
}

// connections watches the number of tracked connections.
func connections(t *testing.T, s *scene) func() bool {
	count := func() int {
		n, err := strconv.Atoi(s.w.Host.Sh(t, "cat /proc/sys/net/netfilter/nf_conntrack_count"))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := count()
	return func() bool { return s.sees(func() bool { return count()-before > flood/10 }) }
}

// TestOwnARP: what keeps made-up neighbours out lets a container ask that has
// lost its entry for the gateway.
func TestOwnARP(t *testing.T) {
	w := world.New(t)
	n := w.Network(t, "net", "routed")
	pod := w.Pod(t, "pod", "net")
	pod.Sh(t, "ip neigh del %s dev eth0", n.Gateways[0])
	pod.Reaches(t, n.Gateways[0], world.Host4)
}
