package socket

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Connect connects to an address by a network, "tcp" or "udp": by Dial, or DialUDP.
func (n Namespace) Connect(ctx context.Context, network string, to netip.AddrPort, opened func(from netip.AddrPort)) (net.Conn, error) {
	if network == "udp" {
		c, err := n.DialUDP(to)
		if err != nil {
			return nil, err
		}
		opened(c.LocalAddr().(*net.UDPAddr).AddrPort())
		return c, nil
	}
	c, err := n.Dial(ctx, to, opened)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Dial connects to an address by TCP from the namespace, as net.Dialer does from this process's own. The connection
// is under way as soon as its socket is made, and is waited for without a thread. The address that it comes from is
// told then, also of one that fails later.
func (n Namespace) Dial(ctx context.Context, to netip.AddrPort, opened func(from netip.AddrPort)) (*net.TCPConn, error) {
	var f *os.File
	var from netip.AddrPort
	err := n.Do(func() error {
		fd, err := unix.Socket(familyOf(to.Addr()), unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
		if err != nil {
			return os.NewSyscallError("socket", err)
		}
		if err = unix.Connect(fd, address(to)); err != nil && err != unix.EINPROGRESS {
			unix.Close(fd)
			return os.NewSyscallError("connect", err)
		}
		f = os.NewFile(uintptr(fd), "tcp") // which the runtime's poller watches
		own, err := unix.Getsockname(fd)
		if err != nil {
			return os.NewSyscallError("getsockname", err)
		}
		from = addrPort(own)
		return nil
	})
	if f != nil {
		defer f.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", to, err)
	}
	opened(from)
	if err := connected(ctx, f); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", to, err)
	}
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	return c.(*net.TCPConn), nil
}

// connected waits until a connection is there, or has failed.
func connected(ctx context.Context, f *os.File) error {
	defer context.AfterFunc(ctx, func() { f.SetWriteDeadline(time.Unix(1, 0)) })()
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		code, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
		switch {
		case err != nil:
			failed = os.NewSyscallError("getsockopt", err)
			return true
		case code != 0:
			failed = os.NewSyscallError("connect", unix.Errno(code))
			return true
		}
		_, err = unix.Getpeername(int(fd))
		return err == nil
	})
	switch {
	case failed != nil:
		return failed
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	}
	return err
}

// Listen takes TCP connections at an address of the namespace.
func (n Namespace) Listen(at netip.AddrPort) (l *net.TCPListener, err error) {
	err = n.Do(func() (err error) {
		l, err = net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
		return err
	})
	return l, err
}

// DialUDP opens a UDP socket that sends to an address from the namespace.
func (n Namespace) DialUDP(to netip.AddrPort) (c *net.UDPConn, err error) {
	err = n.Do(func() (err error) {
		c, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
		return err
	})
	return c, err
}

func familyOf(a netip.Addr) int {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

func address(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}

func addrPort(a unix.Sockaddr) netip.AddrPort {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port))
	}
	return netip.AddrPort{}
}
