package kernel

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// Announcement says who has an address, in the words of who sent it: a gratuitous ARP (RFC 5227, section 3) or an unsolicited neighbour
// advertisement (RFC 4861, 7.2.6). The MAC address is the frame's source.
type Announcement struct {
	MAC  heddle.MAC
	Addr netip.Addr
}

// Announcements are those of some addresses, on a bridge. They have passed the guards of its ports.
type Announcements interface {
	// Next waits for announcements, and returns those that are there, the oldest first. After Close there is an error.
	Next() ([]Announcement, error)
	// Deaf reports whether the bridge is another one by now, on which nothing is heard.
	Deaf() bool
	Close() error
}

type announcements struct {
	k     *Kernel
	file  *os.File
	link  string
	index int
}

// announcedBytes bounds what waits to be read, in the kernel's memory, announcedMost how many frames are read at once, and announcedSize how
// much of each. Who announces without end fills this, and no more.
const announcedBytes, announcedMost, announcedSize = 64 << 10, 128, 128

// HearAnnouncements opens a socket for announcements of the addresses that come to a bridge of the host.
func (k *Kernel) HearAnnouncements(link string, addrs []netip.Addr) (Announcements, error) {
	a := &announcements{k: k, link: link}
	filter, err := bpf.Assemble(announcing(addrs))
	if err != nil {
		return nil, err
	}
	program := make([]unix.SockFilter, len(filter))
	for i, f := range filter {
		program[i] = unix.SockFilter{Code: f.Op, Jt: f.Jt, Jf: f.Jf, K: f.K}
	}
	if a.index, err = k.hostSession().ifindex(link); err != nil {
		return nil, refused("hear announcements on bridge", link, err)
	}
	err = k.home.Do(func() error {
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return err
		}
		err = errors.Join(
			unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, announcedBytes),
			unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
			unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(program)), Filter: unsafe.SliceData(program)}),
			// the bind comes last: no frame comes past the filter
			unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ALL)), Ifindex: a.index}))
		if err != nil {
			unix.Close(fd)
			return err
		}
		a.file = os.NewFile(uintptr(fd), link)
		return nil
	})
	if err != nil {
		return nil, refused("hear announcements on bridge", link, err)
	}
	return a, nil
}

func (a *announcements) Deaf() bool {
	index, err := a.k.hostSession().ifindex(a.link)
	return err != nil || index != a.index
}

func (a *announcements) Close() error { return a.file.Close() }

func (a *announcements) Next() (all []Announcement, err error) {
	raw, err := a.file.SyscallConn()
	if err != nil {
		return nil, err
	}
	var buf [announcedSize]byte
	err = raw.Read(func(fd uintptr) bool {
		for range announcedMost {
			n, _, err := unix.Recvfrom(int(fd), buf[:], unix.MSG_DONTWAIT)
			if err != nil { // none is left, or the bridge is down
				return len(all) > 0
			}
			if one, is := readAnnouncement(buf[:n]); is {
				all = append(all, one)
			}
		}
		return true
	})
	return all, err
}

// Where the fields are in a frame: of Ethernet and ARP (RFC 826), and of IPv6 and ICMPv6 (RFC 8200, RFC 4861).
const (
	atSource, atKind                            = 6, 12
	atOperation, atHardware, atSender, atTarget = 20, 22, 28, 38
	arpSize                                     = 42
	atNext, atHops, atTo                        = 20, 21, 38
	atType, atFlags, atNDTarget                 = 54, 58, 62
	ndSize                                      = 78
)

// advertises is the type of a neighbour advertisement (RFC 4861, 4.4).
const advertises = 136

// holds is that so many bytes of a frame have a value.
type holds struct {
	at    uint32
	size  int
	value uint32
}

// announcing is the filter for frames that may announce one of the addresses; readAnnouncement looks closer. All that it takes the guards of
// the ports let pass from members only: nobody else can fill the socket's buffer.
func announcing(addrs []netip.Addr) (all []bpf.Instruction) {
	for _, a := range addrs {
		kind, about := []holds{{atKind, 2, unix.ETH_P_ARP}}, uint32(atSender)
		if a.Is6() {
			kind, about = []holds{{atKind, 2, unix.ETH_P_IPV6}, {atNext, 1, unix.IPPROTO_ICMPV6}, {atType, 1, advertises}}, atNDTarget
		}
		for b := a.AsSlice(); len(b) > 0; b = b[4:] {
			kind = append(kind, holds{about, 4, binary.BigEndian.Uint32(b)})
			about += 4
		}
		for i, k := range kind { // what does not hold leads behind the last, and what comes there is taken
			all = append(all, bpf.LoadAbsolute{Off: k.at, Size: k.size},
				bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: k.value, SkipTrue: uint8(2*(len(kind)-i) - 1)})
		}
		all = append(all, bpf.RetConstant{Val: announcedSize})
	}
	return append(all, bpf.RetConstant{Val: 0})
}

// readAnnouncement reads a frame, and reports whether it is an announcement: of IPv4 an ARP request in which sender and target are the same,
// or a reply to all; of IPv6 an advertisement to all nodes.
func readAnnouncement(b []byte) (a Announcement, is bool) {
	if len(b) < arpSize {
		return a, false
	}
	source := b[atSource:atKind]
	if a.MAC = heddle.MAC(net.HardwareAddr(source).String()); b[0]&1 == 0 {
		return a, false
	}
	switch binary.BigEndian.Uint16(b[atKind:]) {
	case unix.ETH_P_ARP:
		sender, target := b[atSender:atSender+4], b[atTarget:atTarget+4]
		a.Addr, _ = netip.AddrFromSlice(sender)
		op := binary.BigEndian.Uint16(b[atOperation:])
		return a, slices.Equal(b[atHardware:atHardware+6], source) && (op == 1 && slices.Equal(sender, target) || op == 2)
	case unix.ETH_P_IPV6:
		if len(b) < ndSize {
			return a, false
		}
		a.Addr, _ = netip.AddrFromSlice(b[atNDTarget : atNDTarget+16])
		return a, b[atNext] == unix.IPPROTO_ICMPV6 && b[atHops] == 255 && b[atTo] == 0xff && b[atType] == advertises && b[atFlags]&0x40 == 0
	}
	return a, false
}
