package lab

import (
	"encoding/binary"
	"net"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxFrame is the size of the largest frame: a segment of 64 KiB, with headers.
const maxFrame = virtioHeader + 65536 + 64

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
		b = restoreVLAN(b, aux.Vlan_tpid, aux.Vlan_tci)
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

// openTAP makes a TAP device that lives as long as its file. The kernel
// computes checksums and cuts segments before frames come out of it.
func openTAP(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("TUNSETIFF", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// fromTAP returns a function that reads frames from a TAP. Their checksums are complete.
func fromTAP(tap *os.File) func() ([]byte, error) {
	buffer := make([]byte, maxFrame)
	return func() ([]byte, error) {
		n, err := tap.Read(buffer)
		if err != nil {
			return nil, err
		}
		return append([]byte(nil), buffer[:n]...), nil
	}
}
