package attack_test

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/world"
)

// ownEndAttacks are those of a container with CAP_NET_ADMIN in its namespace: it
// changes its own end of the link.
func ownEndAttacks() []attack {
	all := []attack{
		{name: "another MAC set", modes: both, reason: "spoofed-mac", try: asRogue(
			"ip link set eth0 address "+string(strangerMAC), func(s *scene) string { return "ip link set eth0 address " + string(s.rogue.Endpoint.MAC) })},
		{name: "neighbour's address set", modes: both, reason: "spoofed-ip", try: borrowed},
		{name: "its own translation to a neighbour's address", modes: both, reason: "spoofed-ip", try: translated},
		{name: "bridge with another MAC on its link", modes: bridged, reason: "spoofed-mac", try: ownBridge},
		{name: "macvlan on its link", modes: bridged, reason: "spoofed-mac", try: ownMacvlan},
		{name: "proxy for absent neighbours", modes: bridged, try: proxy, unguard: func(s *scene) string {
			return "nft flush chain bridge heddle prerouting; bridge link set dev " + s.rogue.Port() + " bcast_flood on"
		}},
		{name: "listening to neighbours", modes: bridged, try: listening, unguard: func(s *scene) string {
			return noFastPath + "; bridge fdb del " + string(s.victim.Endpoint.MAC) + " dev " + s.victim.Port() + " master static; bridge link set dev " + s.rogue.Port() + " flood on"
		}},
	}
	for i := range all {
		all[i].class = "own-end"
	}
	return all
}

// noFastPath has frames pass the bridge, which would flood them.
const noFastPath = `ip -o link show type veth | sed -n 's/^[0-9]*: \(hd[^@]*\)@.*/\1/p' | while read -r port; do tc filter delete dev "$port" ingress; done`

// say sends a marked datagram through the sockets of the namespace.
func say(t *testing.T, from world.Netns, to netip.Addr, words string) {
	t.Helper()
	sayAs(t, from, netip.Addr{}, to, words)
}

// sayAs is say from a given address.
func sayAs(t *testing.T, from world.Netns, source, to netip.Addr, words string) {
	t.Helper()
	err := from.Do(func() error {
		d := net.Dialer{}
		if source.IsValid() {
			d.LocalAddr = net.UDPAddrFromAddrPort(netip.AddrPortFrom(source, 0))
		}
		c, err := d.Dial("udp", netip.AddrPortFrom(to, loopPort).String())
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Write([]byte(words))
		return err
	})
	if err != nil {
		t.Fatalf("%s to %s: %v", from.Name, to, err)
	}
}

// knows gives the rogue an entry for its next hop to the victim, so that it need
// not ask: the kernel drops all entries of a link that changes its MAC.
func knows(t *testing.T, s *scene) {
	hop, mac := s.victim.V4(), s.victim.Endpoint.MAC
	if s.routed() {
		hop, mac = gateway4(s), s.rogue.Endpoint.ID.PortMAC()
	}
	s.rogue.Sh(t, "ip neigh replace %s lladdr %s dev eth0 nud permanent", hop, mac)
}

// asRogue changes the rogue's end, talks to the victim, and changes it back.
func asRogue(change string, back func(s *scene) string) func(t *testing.T, s *scene) bool {
	return func(t *testing.T, s *scene) bool {
		s.rogue.Sh(t, "%s", change)
		defer s.rogue.Sh(t, "%s", back(s))
		knows(t, s)
		came := atVictim(t, s)
		say(t, s.rogue.Netns, s.victim.V4(), mark)
		return came()
	}
}

// borrowed talks as the witness.
func borrowed(t *testing.T, s *scene) bool {
	s.rogue.Sh(t, "ip address add %s/32 dev eth0", s.witness.V4())
	defer s.rogue.Sh(t, "ip address del %s/32 dev eth0", s.witness.V4())
	knows(t, s)
	came := atVictim(t, s)
	sayAs(t, s.rogue.Netns, s.witness.V4(), s.victim.V4(), mark)
	return came()
}

// translated lets the container's own firewall write the witness's address.
func translated(t *testing.T, s *scene) bool {
	s.rogue.Sh(t, `nft 'table ip own { chain post { type nat hook postrouting priority 100; ip daddr %s snat to %s; }; }'`, s.victim.V4(), s.witness.V4())
	defer s.rogue.Sh(t, "nft delete table ip own")
	knows(t, s)
	came := atVictim(t, s)
	say(t, s.rogue.Netns, s.victim.V4(), mark)
	return came()
}

// ownBridge puts eth0 into a bridge with a guest behind it.
func ownBridge(t *testing.T, s *scene) bool {
	s.rogue.Sh(t, `ip link add br0 type bridge; ip link set br0 up; ip link set eth0 master br0
		ip link add in0 address %s type veth peer name in1; ip link set in1 master br0; ip link set in0 up; ip link set in1 up`, strangerMAC)
	defer s.rogue.Sh(t, "ip link del in0; ip link del br0")
	return behind(t, s, "in0")
}

// ownMacvlan makes a second interface with a MAC of its own.
func ownMacvlan(t *testing.T, s *scene) bool {
	if out, err := s.rogue.TrySh("ip link add in0 link eth0 address %s type macvlan mode bridge; ip link set in0 up", strangerMAC); contains(out, "Unknown device type") || contains(out, "Operation not supported") {
		lacks(t, "macvlan: "+out)
	} else if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	defer s.rogue.Sh(t, "ip link del in0")
	return behind(t, s, "in0")
}

// behind sends from a link of the rogue's that has the stranger's MAC.
func behind(t *testing.T, s *scene, link string) bool {
	world.Soon(t, link+" carries packets", func() error {
		_, err := s.rogue.TrySh("ip -o link show dev %s | grep -q 'state UP'", link)
		return err
	})
	came := atVictim(t, s)
	s.rogue.Send(t, link, datagram(ether(strangerMAC, s.victim.Endpoint.MAC, ip4), s.rogue.V4(), s.victim.V4()))
	return came()
}

// proxy answers for an address that nobody has.
func proxy(t *testing.T, s *scene) bool {
	absent := heddle.LastAddr(s.net.Subnets[0]).Prev()
	s.rogue.Sh(t, `ip link add own0 type veth peer name own1; ip link set own0 up; ip link set own1 up; ip route add %s dev own0
		sysctl -qw net.ipv4.conf.eth0.proxy_arp=1 net.ipv4.conf.eth0.forwarding=1 net.ipv4.neigh.eth0.proxy_delay=0`, absent)
	defer s.rogue.Sh(t, "ip link del own0; sysctl -qw net.ipv4.conf.eth0.proxy_arp=0 net.ipv4.conf.eth0.forwarding=0")
	say(t, s.victim.Netns, absent, mark)
	return s.sees(func() bool {
		return strings.Contains(s.victim.Sh(t, "ip neigh show %s dev eth0", absent), string(s.rogue.Endpoint.MAC))
	})
}

// listening is a capture of what the witness tells the victim.
func listening(t *testing.T, s *scene) bool {
	s.witness.Sh(t, "ip neigh replace %s lladdr %s dev eth0 nud permanent", s.victim.V4(), s.victim.Endpoint.MAC)
	defer s.witness.Sh(t, "ip neigh del %s dev eth0", s.victim.V4())
	came := s.arrives(t, s.rogue.Netns, "eth0")
	say(t, s.witness.Netns, s.victim.V4(), mark)
	return came()
}
