package socket

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Datagram is a UDP socket that nobody waits at: packets lie in it until its owner comes by, and wake no one. The kernel has noted
// when each has arrived. It has one owner at a time.
type Datagram struct {
	fd   int
	addr netip.AddrPort
	met  bool
	note [32]byte // a control message with a time: 16 bytes, and 16 of header
}

// Datagram opens a UDP socket at an address of the namespace, with any port.
func (n Namespace) Datagram(at netip.Addr) (d *Datagram, err error) {
	err = n.Do(func() (err error) {
		d, err = newDatagram(at)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open a UDP socket at %s: %w", at, err)
	}
	return d, nil
}

func newDatagram(at netip.Addr) (*Datagram, error) {
	fd, err := unix.Socket(familyOf(at), unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	d := &Datagram{fd: fd}
	if err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS_NEW, 1); err != nil {
		d.Close()
		return nil, os.NewSyscallError("setsockopt", err)
	}
	if err = unix.Bind(fd, address(netip.AddrPortFrom(at, 0))); err != nil {
		d.Close()
		return nil, os.NewSyscallError("bind", err)
	}
	own, err := unix.Getsockname(fd)
	if err != nil {
		d.Close()
		return nil, os.NewSyscallError("getsockname", err)
	}
	d.addr = addrPort(own)
	return d, nil
}

// Addr is the socket's own address.
func (d *Datagram) Addr() netip.AddrPort { return d.addr }

// Send sends a packet. The other end is always the same one: with the first packet for which there is a route, the socket is
// connected, and takes packets from nobody else then (udp(7), connect(2)). The kernel keeps the route, and does not look for it
// each time. What the kernel says of an earlier packet takes the place of a later one, which is sent again. A packet for which
// there is no room is an error; nobody waits.
func (d *Datagram) Send(b []byte, to netip.AddrPort) error {
	if !d.met {
		if err := unix.Connect(d.fd, address(to)); err != nil {
			return fmt.Errorf("connect to %s: %w", to, os.NewSyscallError("connect", err))
		}
		d.met = true
	}
	_, err := unix.Write(d.fd, b)
	if err != nil {
		_, err = unix.Write(d.fd, b)
	}
	return os.NewSyscallError("write", err)
}

// Take takes a packet that has arrived: its length, whom it is from, and when the kernel took it from the device (SO_TIMESTAMPNS,
// socket(7)). How long it lay in a queue between there and the socket is not part of it. While the first socket of a host is new, the
// kernel may not note times yet, and the time is that of taking. The error is unix.EAGAIN if there is no
// packet, or what the kernel says of one that was sent.
func (d *Datagram) Take(b []byte) (n int, from netip.AddrPort, at time.Time, err error) {
	n, noted, _, sender, err := syscall.Recvmsg(d.fd, b, d.note[:], 0) // that of unix asks the socket for its protocol each time
	if err != nil {
		return 0, from, at, err
	}
	now := time.Now()
	switch a := sender.(type) {
	case *syscall.SockaddrInet4:
		from = netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *syscall.SockaddrInet6:
		from = netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port))
	}
	return n, from, now.Add(min(0, arrived(d.note[:noted], now).Sub(now.Round(0)))), nil
}

// arrived is the wall clock's time in a control message, or now if there is none.
func arrived(note []byte, now time.Time) time.Time {
	if len(note) < unix.SizeofCmsghdr {
		return now.Round(0)
	}
	h, data, _, err := unix.ParseOneSocketControlMessage(note)
	if err != nil || h.Level != unix.SOL_SOCKET || h.Type != unix.SO_TIMESTAMPNS_NEW || len(data) < 16 {
		return now.Round(0)
	}
	return time.Unix(int64(binary.NativeEndian.Uint64(data)), int64(binary.NativeEndian.Uint64(data[8:])))
}

// Close closes the socket.
func (d *Datagram) Close() error { return os.NewSyscallError("close", unix.Close(d.fd)) }
