package bench

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pacer sends packets with headers of its own through a raw socket (raw(7)): the
// kernel fills in the source address, the length and the IP checksum. UDP's checksum
// is left out (RFC 768).
type pacer struct {
	fd     int
	packet []byte
	flows  int
	next   int
}

const (
	firstFlow = 20000
	// burstPause is between two bursts, which are no longer than the receiver's queue.
	burstPause = time.Millisecond
	burstLimit = 128
)

func newPacer(to netip.Addr, port, flows int) (*pacer, error) {
	if flows < 1 || flows > 65535-firstFlow {
		return nil, errors.New("too many flows for the ports that there are")
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW)
	if err != nil {
		return nil, err
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Addr: to.As4()}); err != nil {
		return nil, err
	}
	p := make([]byte, 20+8+pacedSize)
	p[0], p[6], p[8], p[9] = 0x45, 0x40, 64, unix.IPPROTO_UDP // no fragments
	dst := to.As4()
	copy(p[16:], dst[:])
	binary.BigEndian.PutUint16(p[22:], uint16(port))
	binary.BigEndian.PutUint16(p[24:], 8+pacedSize)
	return &pacer{fd: fd, packet: p, flows: flows}, nil
}

// run sends at a rate: after each pause a burst of the packets that are due. After a delay, what
// does not fit into one burst is left out.
func (p *pacer) run(rate int, length time.Duration) (sent int, err error) {
	start := time.Now()
	due := 0
	for {
		now := time.Since(start)
		if now >= length {
			return sent, nil
		}
		upTo := int(now.Seconds() * float64(rate))
		for range min(upTo-due, burstLimit) {
			if err := p.send(); err != nil {
				return sent, err
			}
			sent++
		}
		due = upTo
		p.rest()
	}
}

// send and rest use raw system calls, which bypass Go's scheduler.
func (p *pacer) send() error {
	binary.BigEndian.PutUint16(p.packet[20:], uint16(firstFlow+p.next))
	p.next = (p.next + 1) % p.flows
	_, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(p.fd), uintptr(unsafe.Pointer(&p.packet[0])), uintptr(len(p.packet)))
	if errno == 0 || errno == unix.EINTR || errno == unix.ENOBUFS { // counted as lost
		return nil
	}
	return errno
}

func (p *pacer) rest() {
	wait := unix.NsecToTimespec(int64(burstPause))
	_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&wait)), 0, 0) // a shorter rest does no harm
}
