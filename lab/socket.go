package lab

import (
	"encoding/binary"
	"net"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/impair"
)

// maxFrame is the size of the largest frame: a segment of 64 KiB, with headers.
const maxFrame = impair.HeaderSize + 65536 + 64

// packetSocket is a packet socket on a port. Each frame has a virtio header before it
// (packet(7), PACKET_VNET_HDR).
type packetSocket struct {
	*os.File
	buffer []byte
	oob    []byte
}

func openPort(name string) (*packetSocket, error) {
	dev, err := net.InterfaceByName(name)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	for _, option := range []int{unix.PACKET_VNET_HDR, unix.PACKET_AUXDATA, unix.PACKET_IGNORE_OUTGOING} {
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, option, 1); err != nil {
			unix.Close(fd)
			return nil, os.NewSyscallError("setsockopt", err)
		}
	}
	// A burst must not be lost before it is counted. SO_RCVBUFFORCE needs CAP_NET_ADMIN.
	unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20)
	// The bind comes last: from here on the socket receives frames of this port only.
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: bigEndian(unix.ETH_P_ALL), Ifindex: dev.Index}); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("bind", err)
	}
	return &packetSocket{os.NewFile(uintptr(fd), name), make([]byte, maxFrame), make([]byte, 256)}, nil
}

func bigEndian(v uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v))
}

// next returns the next frame. While the port is down there are none: the kernel reports this
// once, and next returns nil.
func (p *packetSocket) next() ([]byte, error) {
	raw, err := p.SyscallConn()
	if err != nil {
		return nil, err
	}
	var n, oob int
	var failure error
	err = raw.Read(func(fd uintptr) bool {
		n, oob, _, _, failure = unix.Recvmsg(int(fd), p.buffer, p.oob, unix.MSG_DONTWAIT)
		return failure != unix.EAGAIN
	})
	switch {
	case err != nil:
		return nil, err
	case failure == unix.ENETDOWN || failure == unix.EINTR:
		return nil, nil
	case failure != nil:
		return nil, failure
	}
	b := append([]byte(nil), p.buffer[:n]...)
	if aux := auxiliary(p.oob[:oob]); aux != nil && aux.Status&unix.TP_STATUS_VLAN_VALID != 0 {
		b = impair.RestoreVLAN(b, aux.Vlan_tpid, aux.Vlan_tci)
	}
	return b, nil
}

func auxiliary(oob []byte) *unix.TpacketAuxdata {
	all, _ := unix.ParseSocketControlMessage(oob)
	for _, m := range all {
		if m.Header.Level == unix.SOL_PACKET && m.Header.Type == unix.PACKET_AUXDATA && len(m.Data) >= int(unsafe.Sizeof(unix.TpacketAuxdata{})) {
			return (*unix.TpacketAuxdata)(unsafe.Pointer(&m.Data[0]))
		}
	}
	return nil
}
