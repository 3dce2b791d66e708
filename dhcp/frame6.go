package dhcp

import (
	"encoding/binary"
	"net"
	"net/netip"

	"github.com/mdlayher/ndp"

	"github.com/heddle-network/heddle"
)

// Sizes and numbers of IPv6 (RFC 8200) and what it carries here.
const (
	etherIPv6, ip6Size         = 0x86dd, 40
	protocolICMPv6             = 58
	portServer6, portClient6   = 547, 546
	neighbourHops, serverHops  = 255, 64
	routerAdvertisement        = 134
	neighbourAsked, neighbourA = 135, 136
)

var (
	allNodes   = netip.MustParseAddr("ff02::1")
	allRouters = netip.MustParseAddr("ff02::2")
	allServers = netip.MustParseAddr("ff02::1:2") // and relays (RFC 8415, 7.1)
)

// solicited is the group that everybody with the address is in (RFC 4291, 2.7.1).
func solicited(a netip.Addr) netip.Addr {
	b := a.As16()
	return netip.AddrFrom16([16]byte{0: 0xff, 1: 2, 11: 1, 12: 0xff, 13: b[13], 14: b[14], 15: b[15]})
}

// groupMAC is the MAC address of a multicast group (RFC 2464, 7).
func groupMAC(a netip.Addr) heddle.MAC {
	b := a.As16()
	return heddle.MAC(net.HardwareAddr{0x33, 0x33, b[12], b[13], b[14], b[15]}.String())
}

// ip6Frame is a frame with an IPv6 packet.
func ip6Frame(toMAC, fromMAC heddle.MAC, from, to netip.Addr, protocol, hops byte, payload []byte) []byte {
	src, dst := from.As16(), to.As16()
	ip := make([]byte, ip6Size, ip6Size+len(payload))
	ip[0], ip[6], ip[7] = 0x60, protocol, hops
	binary.BigEndian.PutUint16(ip[4:], uint16(len(payload)))
	copy(ip[8:], src[:])
	copy(ip[24:], dst[:])
	return etherFrame(toMAC, fromMAC, etherIPv6, append(ip, payload...))
}

// neighbourFrame is a message of neighbour discovery. What is said here can be coded; the empty frame stands for what cannot.
func neighbourFrame(toMAC, fromMAC heddle.MAC, from, to netip.Addr, m ndp.Message) []byte {
	b, err := ndp.MarshalMessageChecksum(m, from, to)
	if err != nil {
		return nil
	}
	return ip6Frame(toMAC, fromMAC, from, to, protocolICMPv6, neighbourHops, b)
}

// routersFrame asks all routers to advertise. It comes from nobody: so they answer to all, and need not find the client.
func routersFrame(mac heddle.MAC) []byte {
	return neighbourFrame(groupMAC(allRouters), mac, netip.IPv6Unspecified(), allRouters, &ndp.RouterSolicitation{})
}

// probe6Frame asks whether somebody has an address, without claiming it (RFC 4862, 5.4.2).
func probe6Frame(mac heddle.MAC, a netip.Addr) []byte {
	to := solicited(a)
	return neighbourFrame(groupMAC(to), mac, netip.IPv6Unspecified(), to, &ndp.NeighborSolicitation{TargetAddress: a})
}

// hereFrame says who has an address: to who asks, or to all if somebody is about to take it (RFC 4861, 7.2.4).
func hereFrame(mac heddle.MAC, a netip.Addr, asks Neighbour) []byte {
	toMAC, to := asks.SenderMAC, asks.Sender
	if to.IsUnspecified() {
		toMAC, to = groupMAC(allNodes), allNodes
	}
	return neighbourFrame(toMAC, mac, a, to, &ndp.NeighborAdvertisement{Solicited: to != allNodes, Override: true, TargetAddress: a,
		Options: []ndp.Option{&ndp.LinkLayerAddress{Direction: ndp.Target, Addr: macBytes(mac)}}})
}

// serversFrame is a message to all DHCPv6 servers.
func serversFrame(mac heddle.MAC, from netip.Addr, payload []byte) []byte {
	u := make([]byte, udpSize, udpSize+len(payload))
	binary.BigEndian.PutUint16(u, portClient6)
	binary.BigEndian.PutUint16(u[2:], portServer6)
	binary.BigEndian.PutUint16(u[4:], uint16(udpSize+len(payload)))
	u = append(u, payload...)
	sum := checksum(pseudo6(from, allServers, protocolUDP, len(u)), u)
	if sum == 0 {
		sum = 0xffff
	}
	binary.BigEndian.PutUint16(u[6:], sum)
	return ip6Frame(groupMAC(allServers), mac, from, allServers, protocolUDP, serverHops, u)
}

// pseudo6 is the sum of the pseudo-header (RFC 8200, 8.1).
func pseudo6(from, to netip.Addr, protocol byte, size int) uint32 {
	sum := uint32(protocol) + uint32(size)
	for _, a := range [][16]byte{from.As16(), to.As16()} {
		for i := 0; i < len(a); i += 2 {
			sum += uint32(binary.BigEndian.Uint16(a[i:]))
		}
	}
	return sum
}
