package peer

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"math/big"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Verdict is the outcome of TestChecksums.
type Verdict string

// The verdicts: inner checksums arrive correct; they arrive wrong, although packets with a finished
// checksum arrive; the peer answered neither kind.
const (
	Good     Verdict = "good"
	Spoiled  Verdict = "spoiled"
	Unproven Verdict = "unproven"
)

const (
	checksumTries = 3
	checksumWait  = 500 * time.Millisecond
)

// TestChecksums sends UDP datagrams, whose checksum is left to the device, to a
// closed port of a peer through its tunnel device. An answer that the port is closed
// proves that the checksum was right. If there is no answer, datagrams with a checksum
// made here are the control. If they are answered, the NIC below the tunnel, or a device
// on the path, spoils the others. Then both are sent a second time, since the path may
// have failed and come back between the two. It tests what this host sends; each host
// tests its own. The addresses are IPv6 addresses of the tunnel devices.
func TestChecksums(ctx context.Context, device string, self, peer netip.Addr) (Verdict, error) {
	self, peer = self.WithZone(""), peer.WithZone("")
	for _, finished := range []bool{false, true, false, true} {
		d, err := newDatagrams(device, self, peer)
		if err != nil {
			return Unproven, err
		}
		answered, err := d.answered(ctx, finished)
		d.Close()
		switch {
		case err != nil:
			return Unproven, err
		case answered && !finished:
			return Good, nil
		case !answered && finished:
			return Unproven, nil
		}
	}
	return Spoiled, nil
}

// datagrams are sent from a port of this host to a random port of the peer, which is
// most likely closed.
type datagrams struct {
	*net.UDPConn
	self, peer netip.AddrPort
	raw        int
	zone       int
}

func newDatagrams(device string, self, peer netip.Addr) (*datagrams, error) {
	link, err := net.InterfaceByName(device)
	if err != nil {
		return nil, err
	}
	chance, err := rand.Int(rand.Reader, big.NewInt(8000))
	if err != nil {
		return nil, err
	}
	to := netip.AddrPortFrom(peer.WithZone(device), uint16(1024+chance.Int64()))
	dialer := net.Dialer{LocalAddr: net.UDPAddrFromAddrPort(netip.AddrPortFrom(self.WithZone(device), 0)),
		Control: func(_, _ string, c syscall.RawConn) (err error) {
			return errors.Join(c.Control(func(fd uintptr) { err = unix.SetsockoptString(int(fd), unix.SOL_SOCKET, unix.SO_BINDTODEVICE, device) }), err)
		}}
	conn, err := dialer.Dial("udp6", to.String())
	if err != nil {
		return nil, err
	}
	d := &datagrams{UDPConn: conn.(*net.UDPConn), zone: link.Index, peer: netip.AddrPortFrom(peer, to.Port())}
	d.self = netip.AddrPortFrom(self, uint16(d.LocalAddr().(*net.UDPAddr).Port))
	if d.raw, err = unix.Socket(unix.AF_INET6, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if err := unix.Bind(d.raw, &unix.SockaddrInet6{Addr: self.As16(), ZoneId: uint32(link.Index)}); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Close closes both sockets.
func (d *datagrams) Close() error { return errors.Join(unix.Close(d.raw), d.UDPConn.Close()) }

// answered sends some datagrams and reports whether the peer says that the port is
// closed, or sends something.
func (d *datagrams) answered(ctx context.Context, finished bool) (bool, error) {
	for range checksumTries {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if err := d.send(finished); errors.Is(err, unix.ECONNREFUSED) {
			return true, nil // an answer to an earlier datagram
		} else if err != nil {
			return false, err
		}
		if err := d.SetReadDeadline(time.Now().Add(checksumWait)); err != nil {
			return false, err
		}
		_, err := d.Read(make([]byte, 1))
		if err == nil || errors.Is(err, unix.ECONNREFUSED) {
			return true, nil
		}
	}
	return false, nil
}

var payload = []byte("heddle: does this checksum arrive?")

func (d *datagrams) send(finished bool) error {
	if !finished {
		_, err := d.Write(payload)
		return err
	}
	packet := make([]byte, 8+len(payload))
	binary.BigEndian.PutUint16(packet, d.self.Port())
	binary.BigEndian.PutUint16(packet[2:], d.peer.Port())
	binary.BigEndian.PutUint16(packet[4:], uint16(len(packet)))
	copy(packet[8:], payload)
	binary.BigEndian.PutUint16(packet[6:], checksum(d.self.Addr(), d.peer.Addr(), packet))
	return unix.Sendto(d.raw, packet, unix.MSG_DONTWAIT, &unix.SockaddrInet6{Addr: d.peer.Addr().As16(), ZoneId: uint32(d.zone)})
}

// checksum returns the checksum of a UDP packet over IPv6, with the pseudo-header (RFC 8200, 8.1).
func checksum(src, dst netip.Addr, packet []byte) uint16 {
	a, b := src.As16(), dst.As16()
	sum := uint32(len(packet)) + unix.IPPROTO_UDP
	for _, part := range [][]byte{a[:], b[:], packet} {
		for i := 0; i < len(part); i += 2 {
			sum += uint32(part[i]) << 8
			if i+1 < len(part) {
				sum += uint32(part[i+1])
			}
		}
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	if sum == 0xffff {
		return 0xffff // 0 would mean that there is no checksum
	}
	return ^uint16(sum)
}
