// Package frames reads and writes the frames of devices, each with a virtio header before it: by packet sockets, and by
// TAPs.
package frames

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/impair"
)

// HeaderSize is the size of the header before each frame.
const HeaderSize = impair.HeaderSize

// maxFrame is the size of the largest frame: a segment of 64 KiB, with headers.
const maxFrame = impair.HeaderSize + 65536 + 64

// Socket is a packet socket on a device (packet(7), PACKET_VNET_HDR).
type Socket struct{ *os.File }

// Open opens a socket for the frames that arrive on a device of the thread's namespace.
func Open(device string) (*Socket, error) {
	return open(device, func(fd int) error {
		return os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1))
	})
}

// OpenAll opens a socket for the frames that arrive on a device of the thread's namespace, and those that leave it.
func OpenAll(device string) (*Socket, error) {
	return open(device, func(int) error { return nil })
}

// closing is how many sockets are closed at once: each waits until the kernel is sure that nobody uses it.
const closing = 64

// Close closes sockets, many at once.
func Close(all ...*Socket) {
	var closed errgroup.Group
	closed.SetLimit(closing)
	for _, one := range all {
		closed.Go(one.Close)
	}
	closed.Wait()
}

// OpenMarked opens a socket for the frames with a mark that leave a device of the thread's namespace. Those that the socket
// sends have another mark, and a priority: both for programs (socket(7), SO_MARK and SO_PRIORITY).
func OpenMarked(device string, leaving, sent uint32, priority int) (*Socket, error) {
	return open(device, func(fd int) error {
		for option, value := range map[int]int{unix.SO_MARK: int(sent), unix.SO_PRIORITY: priority} {
			if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, value); err != nil {
				return os.NewSyscallError("setsockopt", err)
			}
		}
		filter := onlyLeaving(leaving)
		return os.NewSyscallError("attach a filter",
			unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}))
	})
}

// onlyLeaving is a filter (linux/filter.h) for frames that leave, with a mark.
func onlyLeaving(mark uint32) []unix.SockFilter {
	const (
		markAt, kindAt = 0xfffff000 + 20, 0xfffff000 + 4 // SKF_AD_OFF with SKF_AD_MARK, SKF_AD_PKTTYPE
		outgoing       = 4                               // PACKET_OUTGOING (linux/if_packet.h)
	)
	return []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: markAt},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 3, K: mark},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: kindAt},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: outgoing},
		{Code: unix.BPF_RET | unix.BPF_K, K: maxFrame},
		{Code: unix.BPF_RET | unix.BPF_K},
	}
}

func open(device string, set func(fd int) error) (*Socket, error) {
	dev, err := net.InterfaceByName(device)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("open a packet socket", err)
	}
	if err := prepare(fd, set); err != nil {
		unix.Close(fd)
		return nil, err
	}
	// The bind comes last: from here on the socket receives frames of this device only.
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: bigEndian(unix.ETH_P_ALL), Ifindex: dev.Index}); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("bind", err)
	}
	return &Socket{os.NewFile(uintptr(fd), device)}, nil
}

func prepare(fd int, set func(fd int) error) error {
	for _, option := range [][2]int{{unix.SOL_PACKET, unix.PACKET_VNET_HDR}, {unix.SOL_PACKET, unix.PACKET_AUXDATA},
		{unix.SOL_SOCKET, unix.SO_TIMESTAMPNS}} {
		if err := unix.SetsockoptInt(fd, option[0], option[1], 1); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	// A burst must not be lost before it is counted. SO_RCVBUFFORCE needs CAP_NET_ADMIN.
	unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20)
	return set(fd)
}

func bigEndian(v uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v))
}

// buffers are for the moment in which a frame is received: whoever waits for one has none.
var buffers = sync.Pool{New: func() any { return new([maxFrame + 256]byte) }}

// Next returns the next frame, and when the kernel had it. While the device is down there are none: the kernel reports this
// once, and Next returns nil. After Close the error is os.ErrClosed, after a deadline os.ErrDeadlineExceeded; any other
// is the kernel's, of one frame, which is lost.
func (p *Socket) Next() (b []byte, at time.Time, err error) {
	raw, err := p.SyscallConn()
	if err != nil {
		return nil, at, err
	}
	var failure error
	err = raw.Read(func(fd uintptr) bool {
		b, at, failure = receive(int(fd))
		return failure != unix.EAGAIN
	})
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, at, err
	case err != nil:
		return nil, at, fmt.Errorf("%w: %w", os.ErrClosed, err) // the poller's own words are no os.ErrClosed
	case failure == unix.ENETDOWN || failure == unix.EINTR:
		return nil, at, nil
	}
	return b, at, os.NewSyscallError("recvmsg", failure)
}

// Dropped is how many frames the kernel has dropped since the last call, because too many waited to be read (packet(7),
// PACKET_STATISTICS). The error is os.ErrClosed after Close.
func (p *Socket) Dropped() (frames uint64, err error) {
	raw, err := p.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failure error
	if err := raw.Control(func(fd uintptr) {
		var s *unix.TpacketStats
		if s, failure = unix.GetsockoptTpacketStats(int(fd), unix.SOL_PACKET, unix.PACKET_STATISTICS); failure == nil {
			frames = uint64(s.Drops)
		}
	}); err != nil {
		return 0, fmt.Errorf("%w: %w", os.ErrClosed, err)
	}
	return frames, os.NewSyscallError("getsockopt", failure)
}

func receive(fd int) ([]byte, time.Time, error) {
	buffer := buffers.Get().(*[maxFrame + 256]byte)
	defer buffers.Put(buffer)
	data, oob := buffer[:maxFrame], buffer[maxFrame:]
	n, noob, _, _, err := unix.Recvmsg(fd, data, oob, unix.MSG_DONTWAIT)
	if err != nil {
		return nil, time.Time{}, err
	}
	b, at := append([]byte(nil), data[:n]...), time.Now()
	all, _ := unix.ParseSocketControlMessage(oob[:noob])
	for _, m := range all {
		switch {
		case is[unix.TpacketAuxdata](m, unix.SOL_PACKET, unix.PACKET_AUXDATA):
			if aux := (*unix.TpacketAuxdata)(unsafe.Pointer(&m.Data[0])); aux.Status&unix.TP_STATUS_VLAN_VALID != 0 {
				b = impair.RestoreVLAN(b, aux.Vlan_tpid, aux.Vlan_tci)
			}
		case is[unix.Timespec](m, unix.SOL_SOCKET, unix.SCM_TIMESTAMPNS):
			stamp := (*unix.Timespec)(unsafe.Pointer(&m.Data[0]))
			at = at.Add(-max(0, at.Round(0).Sub(time.Unix(stamp.Unix())))) // by the wall clock, as the stamp is
		}
	}
	return b, at, nil
}

// is reports whether a message is of a kind, and has a T.
func is[T any](m unix.SocketControlMessage, level, kind int32) bool {
	var t T
	return m.Header.Level == level && m.Header.Type == kind && len(m.Data) >= int(unsafe.Sizeof(t))
}
