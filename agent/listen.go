package agent

import (
	"fmt"
	"net"

	"github.com/heddle-network/heddle"
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

// anyPort asks the kernel for a port on which no program listens.
func anyPort(p heddle.PortMapping) (uint16, error) {
	p.HostPort = 0
	network, address := listenOn(p)
	if p.Protocol == "udp" {
		c, err := net.ListenPacket(network, address)
		if err != nil {
			return 0, err
		}
		defer c.Close()
		return uint16(c.LocalAddr().(*net.UDPAddr).Port), nil
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return uint16(l.Addr().(*net.TCPAddr).Port), nil
}
