package kernel

import (
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/frames"
)

// Wire is a LAN, at the interface by which the host is on it: what is sent and heard there in the name of
// containers.
type Wire interface {
	Send(frame []byte) error
	// Next returns the next frame; nil if there was none after all. After Close the error is os.ErrClosed.
	Next() ([]byte, error)
	// Hear has the interface take frames to a container's MAC address, or not any more: its card passes
	// on no others before the container's own device is there.
	Hear(mac heddle.MAC, on bool) error
	Close() error
}

// lanWire is a Wire by a packet socket.
type lanWire struct {
	socket *frames.Socket
	index  int
	own    heddle.MAC // of the interface, to which it listens anyway
}

// sendTime is how long a frame may wait for room in the queue of an interface.
const sendTime = 100 * time.Millisecond

// OpenWire opens the LAN of an interface of the host, or of a container's if one is named, for what ARP and
// DHCP servers say there. Frames that leave by the interface are not among it: of the host itself, of containers
// on it, of the container that has it.
func (k *Kernel) OpenWire(in Pod, device string) (Wire, error) {
	w, home := &lanWire{}, k.home
	switch pod, err := netnsOf(in); {
	case err != nil:
		return nil, err
	case pod != nil:
		home = pod
	}
	err := home.Do(func() error {
		dev, err := net.InterfaceByName(device)
		if err != nil {
			return err
		}
		w.index, w.own = dev.Index, heddle.MAC(dev.HardwareAddr.String())
		w.socket, err = frames.OpenOnly(device, neighboursAndDHCP)
		return err
	})
	if err != nil {
		return nil, refused("open a packet socket on", device, err)
	}
	return w, nil
}

// neighboursAndDHCP takes ARP packets; UDP packets to a DHCP client's port, of both families, that are no fragments; and of ICMPv6 router
// advertisements, and what neighbours ask and say (RFC 4861, 4).
var neighboursAndDHCP = []unix.SockFilter{
	{Code: unix.BPF_LD | unix.BPF_H | unix.BPF_ABS, K: 12}, // EtherType
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 17, K: unix.ETH_P_ARP},
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 8, K: unix.ETH_P_IPV6},
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 16, K: unix.ETH_P_IP},
	{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 14 + 9}, // protocol
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 14, K: unix.IPPROTO_UDP},
	{Code: unix.BPF_LD | unix.BPF_H | unix.BPF_ABS, K: 14 + 6}, // fragment offset, more fragments
	{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jt: 12, K: 0x3fff},
	{Code: unix.BPF_LDX | unix.BPF_B | unix.BPF_MSH, K: 14},    // size of the IP header
	{Code: unix.BPF_LD | unix.BPF_H | unix.BPF_IND, K: 14 + 2}, // destination port
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 8, Jf: 9, K: 68},
	{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 14 + 6}, // IPv6: next header
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 3, K: unix.IPPROTO_ICMPV6},
	{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 14 + 40}, // ICMPv6 type
	{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, Jf: 5, K: 134},
	{Code: unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, Jt: 4, Jf: 3, K: 136},
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 3, K: unix.IPPROTO_UDP},
	{Code: unix.BPF_LD | unix.BPF_H | unix.BPF_ABS, K: 14 + 40 + 2}, // destination port
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: 546},
	{Code: unix.BPF_RET | unix.BPF_K, K: 1 << 16},
	{Code: unix.BPF_RET | unix.BPF_K},
}

func (w *lanWire) Send(frame []byte) error {
	if err := w.socket.SetWriteDeadline(time.Now().Add(sendTime)); err != nil {
		return err
	}
	_, err := w.socket.Write(append(make([]byte, frames.HeaderSize, frames.HeaderSize+len(frame)), frame...))
	return err
}

func (w *lanWire) Next() ([]byte, error) {
	b, _, err := w.socket.Next()
	if err != nil || len(b) < frames.HeaderSize {
		return nil, err
	}
	return b[frames.HeaderSize:], nil
}

func (w *lanWire) Hear(mac heddle.MAC, on bool) error {
	if mac == w.own {
		return nil
	}
	return os.NewSyscallError("hear "+string(mac), w.socket.Hear(w.index, [6]byte(mac.Bytes()), on))
}

func (w *lanWire) Close() error { return w.socket.Close() }
