package dhcp

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"

	"github.com/heddle-network/heddle"
)

// Sizes and numbers of Ethernet, ARP (RFC 826), IPv4 and UDP.
const (
	etherSize, ipSize, udpSize, arpSize = 14, 20, 8, 28
	etherIPv4, etherARP                 = 0x0800, 0x0806
	portServer, portClient              = 67, 68
	protocolUDP                         = 17
)

var broadcastMAC = heddle.MAC("ff:ff:ff:ff:ff:ff")

// ARP is what is read of an ARP packet. From is who sent the frame, SenderMAC who is said to have SenderIP.
type ARP struct {
	From, SenderMAC    heddle.MAC
	SenderIP, TargetIP netip.Addr
	ToOne              heddle.MAC // the frame is to it, "" if to a group or all
}

// ends are the MAC addresses that a frame comes from and is to, "" if it is to a group or all. Nothing is ok to its own sender: a container
// of mode ipvlan has its parent hear what it sends so, from any MAC address (ipvlan_xmit_mode_l2).
func ends(b []byte) (from, toOne heddle.MAC, ok bool) {
	if len(b) < etherSize || bytes.Equal(b[:6], b[6:12]) {
		return "", "", false
	}
	if b[0]&1 == 0 {
		toOne = heddle.MAC(net.HardwareAddr(b[:6]).String())
	}
	return heddle.MAC(net.HardwareAddr(b[6:12]).String()), toOne, true
}

// Parse reads a frame: an answer of a DHCP server that is of a transaction of ours, or an ARP packet, or
// neither. All that comes from the LAN passes it. The UDP checksum is not looked at: a server on this
// machine leaves it to a card.
func Parse(b []byte, ours func(xid uint32, mac heddle.MAC) bool) (m *Message, a *ARP) {
	from, toOne, ok := ends(b)
	if !ok {
		return nil, nil
	}
	rest := b[etherSize:]
	switch binary.BigEndian.Uint16(b[12:]) {
	case etherARP:
		if len(rest) < arpSize || binary.BigEndian.Uint64(rest)>>16 != 0x000108000604 {
			return nil, nil
		}
		return nil, &ARP{From: from, ToOne: toOne, SenderMAC: heddle.MAC(net.HardwareAddr(rest[8:14]).String()),
			SenderIP: netip.AddrFrom4([4]byte(rest[14:18])), TargetIP: netip.AddrFrom4([4]byte(rest[24:28]))}
	case etherIPv4:
		if payload := udpPayload(rest); payload != nil && isOurs(payload, ours) {
			if got, ok := parseMessage(payload, from); ok {
				got.ToOne = toOne
				return &got, nil
			}
		}
	}
	return nil, nil
}

// udpPayload is what an IPv4 packet carries to the client's port; nil for any other packet.
func udpPayload(b []byte) []byte {
	if len(b) < ipSize || b[0]>>4 != 4 {
		return nil
	}
	head, total := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	fragment := binary.BigEndian.Uint16(b[6:]) & 0x3fff
	if head < ipSize || total < head+udpSize || total > len(b) || b[9] != protocolUDP || fragment != 0 {
		return nil
	}
	u := b[head:total]
	size := int(binary.BigEndian.Uint16(u[4:]))
	if binary.BigEndian.Uint16(u) != portServer || binary.BigEndian.Uint16(u[2:]) != portClient || size < udpSize || size > len(u) {
		return nil
	}
	return u[udpSize:size]
}

// macBytes are the bytes of a MAC address that is well formed.
func macBytes(m heddle.MAC) []byte {
	b, err := net.ParseMAC(string(m))
	if err != nil || len(b) != 6 {
		return make([]byte, 6)
	}
	return b
}

func etherFrame(to, from heddle.MAC, kind uint16, payload []byte) []byte {
	b := append(append(make([]byte, 0, etherSize+len(payload)), macBytes(to)...), macBytes(from)...)
	return append(binary.BigEndian.AppendUint16(b, kind), payload...)
}

// udpFrame is a frame with a UDP packet to the server's port.
func udpFrame(toMAC, fromMAC heddle.MAC, from, to netip.Addr, payload []byte) []byte {
	src, dst := from.As4(), to.As4()
	total := ipSize + udpSize + len(payload)
	ip := make([]byte, ipSize+udpSize, total)
	ip[0], ip[8], ip[9] = 0x45, 64, protocolUDP
	binary.BigEndian.PutUint16(ip[2:], uint16(total))
	copy(ip[12:], src[:])
	copy(ip[16:], dst[:])
	binary.BigEndian.PutUint16(ip[10:], checksum(0, ip[:ipSize]))
	u := ip[ipSize:]
	binary.BigEndian.PutUint16(u, portClient)
	binary.BigEndian.PutUint16(u[2:], portServer)
	binary.BigEndian.PutUint16(u[4:], uint16(udpSize+len(payload)))
	ip = append(ip, payload...)
	u = ip[ipSize:]
	pseudo := uint32(protocolUDP) + uint32(len(u))
	for i := 12; i < ipSize; i += 2 {
		pseudo += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	sum := checksum(pseudo, u)
	if sum == 0 {
		sum = 0xffff
	}
	binary.BigEndian.PutUint16(u[6:], sum)
	return etherFrame(toMAC, fromMAC, etherIPv4, ip)
}

// checksum is the Internet checksum (RFC 1071).
func checksum(sum uint32, b []byte) uint16 {
	for ; len(b) >= 2; b = b[2:] {
		sum += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		sum += uint32(b[0]) << 8
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

// probeFrame asks who has an address, without claiming it (RFC 5227, 2.1.1).
func probeFrame(mac heddle.MAC, a netip.Addr) []byte {
	return arpRequest(mac, netip.IPv4Unspecified(), a)
}

// announcementFrame claims an address (RFC 5227, 2.3).
func announcementFrame(mac heddle.MAC, a netip.Addr) []byte { return arpRequest(mac, a, a) }

func arpRequest(mac heddle.MAC, sender, target netip.Addr) []byte {
	from, to := sender.As4(), target.As4()
	p := append(binary.BigEndian.AppendUint64(nil, 0x0001080006040001), macBytes(mac)...)
	p = append(append(p, from[:]...), make([]byte, 6)...)
	return etherFrame(broadcastMAC, mac, etherARP, append(p, to[:]...))
}
