package kernel

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// OnlyIPv6 are the inodes of those TCP sockets that listen, and UDP sockets that wait for any caller,
// which are for IPv6 alone (IPV6_V6ONLY, ipv6(7)); files in /proc/net do not say that. A kernel that
// cannot be asked tells of none (Debian has it in the modules tcp_diag and udp_diag).
func OnlyIPv6() map[uint32]bool {
	only := map[uint32]bool{}
	c, err := dial(unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return only
	}
	defer c.close()
	for protocol, state := range map[uint8]uint32{unix.IPPROTO_TCP: tcpListen, unix.IPPROTO_UDP: tcpClose} {
		c.exchange(func(_ uint16, socket []byte) {
			if inode, is := onlyIPv6(socket); is {
				only[inode] = true
			}
		}, socketsIn(unix.AF_INET6, protocol, state))
	}
	return only
}

// onlyIPv6 reads a struct inet_diag_msg, whose last member is the inode, and the attributes after it.
func onlyIPv6(socket []byte) (inode uint32, is bool) {
	const size, skV6Only = 72, 11 // INET_DIAG_SKV6ONLY
	if len(socket) < size {
		return 0, false
	}
	return binary.NativeEndian.Uint32(socket[size-4:]), octet(attributes(socket[size:]).get(skV6Only)) != 0
}
