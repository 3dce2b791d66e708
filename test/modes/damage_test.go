package modes_test

import (
	"fmt"

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
