package peer

import (
	"errors"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// routeSocket opens a socket that sends nothing. Once connected, it reports the path MTU that the
// kernel has cached.
func routeSocket(local netip.Addr) (int, error) {
	family := unix.AF_INET6
	if local.Is4() {
		family = unix.AF_INET
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.Bind(fd, sockaddr(local, 0)); err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// cached is the path MTU that the kernel has for an address; 0 if it has no route to it (IP_MTU in
// ip(7), IPV6_MTU in ipv6(7)).
func (p *Peers) cached(to netip.Addr) int {
	e := p.probers[heddle.FamilyOf(to)]
	if e == nil {
		return 0
	}
	const discard = 9
	if unix.Connect(e.route, sockaddr(to, discard)) != nil {
		return 0
	}
	level, option := unix.IPPROTO_IPV6, unix.IPV6_MTU
	if to.Is4() {
		level, option = unix.IPPROTO_IP, unix.IP_MTU
	}
	mtu, err := unix.GetsockoptInt(e.route, level, option)
	if err != nil {
		return 0
	}
	return mtu
}

// interfaceMTULocked is the MTU of the interface with the underlay address; 0 while it is not known.
func (p *Peers) interfaceMTULocked(f heddle.Family) int {
	if e := p.probers[f]; e != nil {
		return e.mtu
	}
	return 0
}

// readInterfaceLocked reads the MTU.
func (p *Peers) readInterfaceLocked(f heddle.Family) {
	e := p.probers[f]
	if e == nil {
		return
	}
	if e.name == "" {
		e.name = interfaceOf(e.local)
	}
	request, err := unix.NewIfreq(e.name)
	if err == nil {
		err = unix.IoctlIfreq(e.route, unix.SIOCGIFMTU, request)
	}
	if err != nil {
		e.name, e.mtu = "", 0 // the interface is gone, or has another name
		return
	}
	e.mtu = int(request.Uint32())
}

// interfaceOf names the interface with an address, "" if there is none.
func interfaceOf(a netip.Addr) string {
	all, _ := net.Interfaces()
	for _, i := range all {
		addrs, _ := i.Addrs()
		for _, one := range addrs {
			if n, ok := one.(*net.IPNet); ok {
				if b, _ := netip.AddrFromSlice(n.IP); b.Unmap() == a {
					return i.Name
				}
			}
		}
	}
	return ""
}
