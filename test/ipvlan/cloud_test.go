package ipvlan_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/test/world"
)

// The cloud's network. Its router answers at the gateways' addresses.
const (
	subnet4, gateway4 = "10.0.0.0/16", "10.0.255.253"
	subnet6, gateway6 = "fd00:a::/64", "fd00:a::fffd"
)

// nic is one of a node's, and what the cloud has given to it: the host part of its
// addresses begins with number.
type nic struct {
	name, node, link string
	number           int
	// own are the node's addresses there, containers those for others.
	own, containers []netip.Addr
}

func (n *nic) mac() string  { return fmt.Sprintf("02:00:00:00:00:%02x", 16+n.number) }
func (n *nic) port() string { return "port-" + n.name }

func (n *nic) all() []netip.Addr { return append(append([]netip.Addr{}, n.own...), n.containers...) }

// address is the NIC's host-th address of both families.
func (n *nic) address(host int) []netip.Addr {
	return []netip.Addr{netip.AddrFrom4([4]byte{10, 0, byte(n.number), byte(host)}), netip.MustParseAddr(fmt.Sprintf("fd00:a::%x:%x", n.number, host))}
}

// newNICs are those of two nodes: a primary one each, which has the node's address,
// and others for containers.
func newNICs() map[string]*nic {
	all := map[string]*nic{}
	for i, n := range []nic{{name: "primary1", node: "node1", link: "eth0"}, {name: "a", node: "node1", link: "eth1"}, {name: "b", node: "node1", link: "eth2"},
		{name: "primary2", node: "node2", link: "eth0"}, {name: "c", node: "node2", link: "eth1"}} {
		n.number = i + 1
		if n.link == "eth0" {
			n.own = n.address(1)
		}
		for host := 11; host <= 13; host++ {
			n.containers = append(n.containers, n.address(host)...)
		}
		all[n.name] = &n
	}
	return all
}

// routedCloud is a vSwitch as clouds have it: each NIC hangs on a port of its own,
// ARP and neighbour discovery are answered by the switch with one MAC address,
// packets go by address, and what does not come from the NIC's own MAC address and
// one of its addresses is dropped.
func routedCloud(t testing.TB, nics map[string]*nic) world.Netns {
	t.Helper()
	p := world.NewNetns(t, "cloud")
	p.Sh(t, `ip link set lo up; ip address add %s/32 dev lo; ip address add %s/128 dev lo nodad
		sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv4.conf.all.send_redirects=0 net.ipv4.conf.default.send_redirects=0
		nft 'table inet cloud { chain in { type filter hook prerouting priority -300; }; }'`, gateway4, gateway6)
	var links, rest, settings, guard strings.Builder
	for _, n := range nics {
		fmt.Fprintf(&links, "link add %[1]s address 02:ff:ff:ff:ff:ff type veth peer name %[2]s netns %[3]s address %[4]s\nlink set %[1]s up\n", n.port(), n.link, n.node, n.mac())
		fmt.Fprintf(&settings, "net.ipv4.conf.%[1]s.proxy_arp=1 net.ipv4.neigh.%[1]s.proxy_delay=0 net.ipv6.conf.%[1]s.proxy_ndp=1 net.ipv6.neigh.%[1]s.proxy_delay=0 ", n.port())
		fmt.Fprintf(&guard, "add rule inet cloud in iifname %s ether saddr != %s drop\n", n.port(), n.mac())
		for _, a := range n.all() {
			fmt.Fprintf(&rest, "route add %[1]s dev %[2]s\nneighbour add %[1]s lladdr %[3]s dev %[2]s nud permanent\n", a, n.port(), n.mac())
		}
		for _, other := range nics {
			for _, a := range other.all() {
				if a.Is6() && other != n {
					fmt.Fprintf(&rest, "neighbour add proxy %s dev %s\n", a, n.port())
				}
			}
		}
		fmt.Fprintf(&rest, "neighbour add proxy %s dev %s\n", gateway6, n.port())
	}
	p.Sh(t, "ip -batch - <<E\n%sE\nsysctl -qw %s\nip -batch - <<E\n%sE", links.String(), settings.String(), rest.String())
	p.Sh(t, `nft -f - <<E
%s	add rule inet cloud in ip6 saddr { fe80::/10, :: } accept
	add rule inet cloud in fib saddr . iif oif eq 0 drop
E`, guard.String())
	return p
}

// bridgedCloud is a plain switch: a Linux bridge, with the router on it.
func bridgedCloud(t testing.TB, nics map[string]*nic) world.Netns {
	t.Helper()
	p := world.NewNetns(t, "cloud")
	p.Sh(t, `ip link set lo up; ip link add br0 type bridge mcast_snooping 0; ip link set br0 up
		ip address add %s/16 dev br0; ip address add %s/64 dev br0 nodad`, gateway4, gateway6)
	for _, n := range nics {
		p.Sh(t, `ip link add %[1]s type veth peer name %[2]s netns %[3]s address %[4]s
			ip link set %[1]s master br0 up`, n.port(), n.link, n.node, n.mac())
	}
	return p
}
