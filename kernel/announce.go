package kernel

import (
	"encoding/binary"
	"net/netip"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

// Announce tells the neighbours on the interface's LAN the present MAC address of the IP addresses,
// so that those who knew an earlier holder send to the new one at once. For IPv4 it sends a
// gratuitous ARP request (RFC 5227, section 3), for IPv6 an unsolicited neighbour advertisement
// (RFC 4861, section 7.2.6). Each message is sent once and gets no answer.
func (k *Kernel) Announce(in Pod, ifname string, mac heddle.MAC, addrs []netip.Prefix) error {
	pod, s, err := openPod(in)
	if err != nil || pod == nil {
		return err
	}
	defer s.close()
	index, err := s.ifindex(ifname)
	if err != nil {
		return refused("announce the addresses of interface", ifname, err)
	}
	return refused("announce the addresses of interface", ifname, pod.Do(func() error {
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		for _, a := range addrs {
			frame := gratuitousARP(mac.Bytes(), a.Addr())
			if a.Addr().Is6() {
				frame = unsolicitedNA(mac.Bytes(), a.Addr())
			}
			if err := unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: index}); err != nil {
				return err
			}
		}
		return nil
	}))
}

// gratuitousARP is a broadcast request in which sender and target are the same
// (RFC 826).
func gratuitousARP(mac []byte, ip netip.Addr) []byte {
	b := ethernet([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, mac, unix.ETH_P_ARP)
	b = append(b, 0, 1, 8, 0, 6, 4, 0, 1) // Ethernet, IPv4, lengths, request
	b = append(append(b, mac...), ip.AsSlice()...)
	return append(append(b, make([]byte, 6)...), ip.AsSlice()...)
}

// unsolicitedNA goes to all nodes with the override flag set and the MAC address
// as the target's link-layer option (RFC 4861, section 4.4).
func unsolicitedNA(mac []byte, ip netip.Addr) []byte {
	allNodes := netip.MustParseAddr("ff02::1").AsSlice()
	icmp := append([]byte{136, 0, 0, 0, 0x20, 0, 0, 0}, ip.AsSlice()...)
	icmp = append(append(icmp, 2, 1), mac...)
	binary.BigEndian.PutUint16(icmp[2:], icmpv6Checksum(ip.AsSlice(), allNodes, icmp))
	b := ethernet([]byte{0x33, 0x33, 0, 0, 0, 1}, mac, unix.ETH_P_IPV6)
	b = append(b, 0x60, 0, 0, 0, 0, byte(len(icmp)), unix.IPPROTO_ICMPV6, 255)
	return append(append(append(b, ip.AsSlice()...), allNodes...), icmp...)
}

func ethernet(dst, src []byte, kind uint16) []byte {
	return binary.BigEndian.AppendUint16(append(append([]byte{}, dst...), src...), kind)
}

// icmpv6Checksum covers a pseudo-header too (RFC 8200, section 8.1).
func icmpv6Checksum(src, dst, icmp []byte) uint16 {
	all := append(append([]byte{}, src...), dst...)
	all = append(all, 0, 0, 0, byte(len(icmp)), 0, 0, 0, unix.IPPROTO_ICMPV6)
	all = append(all, icmp...)
	var sum uint32
	for i := 0; i+1 < len(all); i += 2 {
		sum += uint32(all[i])<<8 | uint32(all[i+1])
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
