package frames

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// OpenOnly opens a socket for those frames that arrive on a device of the thread's namespace and that a filter takes. Its
// instructions see the frame without the header before it (bpf(4)).
func OpenOnly(device string, filter []unix.SockFilter) (*Socket, error) {
	return open(device, func(fd int) error {
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
		return os.NewSyscallError("attach a filter",
			unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(filter)), Filter: unsafe.SliceData(filter)}))
	})
}

// Hear has the device with that index take frames to one more MAC address, or not any more (packet(7), PACKET_MR_UNICAST
// and, for a group's, PACKET_MR_MULTICAST). It ends with the socket.
func (p *Socket) Hear(index int, mac [6]byte, on bool) error {
	option := unix.PACKET_DROP_MEMBERSHIP
	if on {
		option = unix.PACKET_ADD_MEMBERSHIP
	}
	request := unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_UNICAST, Alen: 6}
	if copy(request.Address[:], mac[:]); mac[0]&1 != 0 {
		request.Type = unix.PACKET_MR_MULTICAST
	}
	raw, err := p.SyscallConn()
	if err != nil {
		return err
	}
	var failure error
	if err := raw.Control(func(fd uintptr) {
		failure = unix.SetsockoptPacketMreq(int(fd), unix.SOL_PACKET, option, &request)
	}); err != nil {
		return err
	}
	return os.NewSyscallError("setsockopt", failure)
}
