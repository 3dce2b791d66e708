package agent

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// listenOn returns the arguments of net.Listen with which it is tested whether a port of the host
// is free. All addresses of IPv6 are those of IPv6 alone.
func listenOn(p heddle.PortMapping) (network, address string) {
	if !p.HostIP.IsValid() {
		return p.Protocol, net.JoinHostPort("", fmt.Sprint(p.HostPort))
	}
	return p.Protocol + heddle.FamilyOf(p.HostIP).Digit(), net.JoinHostPort(p.HostIP.String(), fmt.Sprint(p.HostPort))
}

// portFree fails if a program of the host listens on the port.
func portFree(p heddle.PortMapping) error {
	if p.Protocol == "sctp" {
		return sctpFree(p)
	}
	network, address := listenOn(p)
	if p.Protocol == "udp" {
		c, err := net.ListenPacket(network, address)
		if err != nil {
			return err
		}
		return c.Close()
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	return l.Close()
}

// sctpFree is portFree for SCTP. It opens no socket: the kernel would load its module for that.
func sctpFree(p heddle.PortMapping) error {
	if p.HostIP.IsValid() { // is it an address of this host?
		any := p
		any.Protocol, any.HostPort = "udp", 0
		if err := portFree(any); err != nil {
			return err
		}
	}
	// Where the kernel tracks connections, but not those of SCTP, it cannot translate them.
	const tracking = "/proc/sys/net/netfilter/nf_conntrack_"
	_, tracks := os.Stat(tracking + "max")
	if _, sctp := os.Stat(tracking + "sctp_timeout_established"); tracks == nil && sctp != nil {
		return unix.EPROTONOSUPPORT
	}
	sockets, err := kernel.SCTPListeners()
	if err != nil {
		return err
	}
	for _, s := range sockets {
		for _, a := range s.Addrs {
			if s.Port == p.HostPort && shareAddress(p.HostIP, socketAddress(a, false)) {
				return unix.EADDRINUSE
			}
		}
	}
	return nil
}
