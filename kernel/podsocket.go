package kernel

import (
	"context"
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// echoBytes bounds what waits to be read at a socket for echoes, in the kernel's memory: a few of the largest packets.
const echoBytes = 256 << 10

// The types of ICMP messages that come to such a socket (RFC 792, RFC 4443): replies, and errors about what was sent.
var echoTypes = map[heddle.Family][]int{heddle.IPv4: {0, 3, 11}, heddle.IPv6: {129, 1, 2, 3}}

// OpenEcho opens a raw socket for ICMP in a namespace; in the host's own without one. The namespace lives as long as the socket. Whole has the
// kernel send packets unfragmented, whatever path MTU it has noted (ip(7), ipv6(7)). The namespace's ping_group_range does not matter to it.
func (k *Kernel) OpenEcho(pod Pod, f heddle.Family, whole bool) (c *net.IPConn, err error) {
	network := "ip6:ipv6-icmp"
	if f == heddle.IPv4 {
		network = "ip4:icmp"
	}
	listen := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		return errors.Join(raw.Control(func(fd uintptr) { err = configureEcho(int(fd), f, whole) }), err)
	}}
	err = k.inPod(pod, func() error {
		opened, err := listen.ListenPacket(context.Background(), network, f.Unspecified().String())
		if err == nil {
			c = opened.(*net.IPConn)
		}
		return err
	})
	if err != nil {
		return nil, heddle.Wrap(heddle.KernelRefused, "open", "a socket for "+f.String()+" echoes in the container's namespace", err,
			"see 'heddle status', and whether the agent has CAP_NET_RAW and CAP_SYS_ADMIN")
	}
	return c, nil
}

func configureEcho(fd int, f heddle.Family, whole bool) error {
	room := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, echoBytes)
	if f == heddle.IPv4 {
		keep := ^uint32(0)
		for _, t := range echoTypes[f] {
			keep &^= 1 << t
		}
		const icmpFilter = 1 // ICMP_FILTER (linux/icmp.h)
		err := unix.SetsockoptInt(fd, unix.SOL_RAW, icmpFilter, int(int32(keep)))
		if whole {
			err = errors.Join(err, unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE))
		}
		return errors.Join(room, err)
	}
	var filter unix.ICMPv6Filter
	for i := range filter.Data {
		filter.Data[i] = ^uint32(0)
	}
	for _, t := range echoTypes[f] {
		filter.Data[t/32] &^= 1 << (t % 32)
	}
	err := unix.SetsockoptICMPv6Filter(fd, unix.IPPROTO_ICMPV6, unix.ICMPV6_FILTER, &filter)
	if whole {
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE),
			unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_DONTFRAG, 1))
	}
	return errors.Join(room, err)
}

// DialPod connects from a namespace to an address, which must be no name. The namespace lives as long as the connection.
func (k *Kernel) DialPod(ctx context.Context, pod Pod, network, address string) (c net.Conn, err error) {
	err = k.inPod(pod, func() (err error) {
		var d net.Dialer
		c, err = d.DialContext(ctx, network, address)
		return err
	})
	return c, err
}

// inPod does something within a namespace; in the host's own without one.
func (k *Kernel) inPod(pod Pod, do func() error) error {
	n, err := netnsOf(pod)
	if err != nil {
		return err
	}
	if n == nil {
		n = k.home
	}
	return n.Do(do)
}
