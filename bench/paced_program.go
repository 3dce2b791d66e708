package bench

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The programs of Paced, by their first argument.
const (
	pacedSend    = "bench-paced-send"
	pacedReceive = "bench-paced-receive"
)

// Dispatch runs one of the programs that probes start, if the arguments (without the program's
// name) ask for it, and then ends the process. A program that calls Run must call Dispatch first
// in main: probes start this same program.
func Dispatch(args []string) {
	var err error
	switch {
	case len(args) == 6 && args[0] == pacedSend:
		err = sendPaced(args[1:])
	case len(args) == 2 && args[0] == pacedReceive:
		err = receivePaced(args[1:])
	default:
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// receiverReply is the receiver's answer to a question: the packets that it has received, and the
// nanoseconds of CPU that it has used.
type receiverReply struct{ Packets, CPU int64 }

// question is a message that is longer than a packet.
var question = make([]byte, pacedSize+8)

// receivePaced counts packets and answers questions, until it is killed.
func receivePaced(args []string) error {
	port, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: port}); err != nil {
		return err
	}
	var seen int64
	buf := make([]byte, 2*pacedSize)
	for {
		var from unix.RawSockaddrInet4
		size := uint32(unsafe.Sizeof(from))
		// A raw call: Go's scheduler would handle the wait, and cost more than the packet.
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0,
			uintptr(unsafe.Pointer(&from)), uintptr(unsafe.Pointer(&size)))
		switch {
		case errno == unix.EINTR:
		case errno != 0:
			return errno
		case n == pacedSize:
			seen++
		case int(n) == len(question):
			asker := &unix.SockaddrInet4{Addr: from.Addr, Port: int(from.Port<<8 | from.Port>>8)}
			_ = unix.Sendto(fd, receiverReply{seen, ownCPU()}.text(), 0, asker) // without an answer the sender asks again
		}
	}
}

func (c receiverReply) text() []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(c.Packets)), uint64(c.CPU))
}

func ask(conn net.Conn) (receiverReply, error) {
	buf := make([]byte, len(question))
	for range 5 {
		if _, err := conn.Write(question); err != nil {
			return receiverReply{}, err
		}
		_ = conn.SetReadDeadline(time.Now().Add(2 * time.Second)) // a UDP socket has deadlines
		if n, err := conn.Read(buf); err == nil && n == 16 {
			return receiverReply{int64(binary.BigEndian.Uint64(buf)), int64(binary.BigEndian.Uint64(buf[8:]))}, nil
		}
	}
	return receiverReply{}, errors.New("the receiver does not answer")
}

// ownCPU is the CPU time of this process, in nanoseconds.
func ownCPU() int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// sendPaced takes the target, its port, the number of flows, packets a second and the
// length of the run.
func sendPaced(args []string) error {
	addr, err1 := netip.ParseAddr(args[0])
	port, err2 := strconv.Atoi(args[1])
	flows, err3 := strconv.Atoi(args[2])
	rate, err4 := strconv.Atoi(args[3])
	length, err5 := time.ParseDuration(args[4])
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return err
	}
	conn, err := net.Dial("udp4", net.JoinHostPort(args[0], args[1]))
	if err != nil {
		return err
	}
	s, err := newPacer(addr, port, flows)
	if err != nil {
		return err
	}
	// The first packets fill the kernel's caches.
	if _, err := s.run(rate, length/10); err != nil {
		return err
	}
	first, err := ask(conn)
	if err != nil {
		return err
	}
	start, own := time.Now(), ownCPU()
	sent, err := s.run(rate, length)
	if err != nil {
		return err
	}
	seconds, own := time.Since(start).Seconds(), ownCPU()-own
	last, err := ask(conn)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(pacedResult{sent, int(last.Packets - first.Packets), seconds, own + last.CPU - first.CPU})
}
