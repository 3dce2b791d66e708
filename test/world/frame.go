package world

import (
	"bytes"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/test/poll"
)

// Frame is an Ethernet frame that was seen on a link.
type Frame struct {
	Data []byte
	// Out is set if the namespace itself sent it.
	Out bool
}

// Packet decodes the frame.
func (f Frame) Packet() gopacket.Packet {
	return gopacket.NewPacket(f.Data, layers.LayerTypeEthernet, gopacket.Default)
}

// Capture records the frames of one link.
type Capture struct {
	fd     int
	mu     sync.Mutex // guards frames
	frames []Frame
	ending atomic.Bool
	done   chan struct{}
}

// networkOrder is htons(ETH_P_ALL).
const networkOrder = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8

// Capture starts recording in the namespace.
func (n Netns) Capture(t testing.TB, link string) *Capture {
	t.Helper()
	c := &Capture{fd: -1, done: make(chan struct{})}
	if err := n.packetSocket(link, &c.fd); err != nil {
		t.Fatalf("capture on %s in %s: %v", link, n.Name, err)
	}
	unix.SetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20)
	unix.SetsockoptTimeval(c.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 20000})
	go c.run()
	t.Cleanup(func() { c.Stop() })
	return c
}

// packetSocket opens a raw socket on a link of the namespace.
func (n Netns) packetSocket(link string, fd *int) error {
	return n.Do(func() error {
		l, err := net.InterfaceByName(link)
		if err != nil {
			return err
		}
		if *fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, networkOrder); err != nil {
			return err
		}
		return unix.Bind(*fd, &unix.SockaddrLinklayer{Protocol: networkOrder, Ifindex: l.Index})
	})
}

func (c *Capture) run() {
	defer close(c.done)
	buffer := make([]byte, 1<<18) // segments of BIG TCP, too
	for {
		ending := c.ending.Load()
		n, from, err := unix.Recvfrom(c.fd, buffer, unix.MSG_TRUNC)
		if err != nil {
			if ending {
				return
			}
			continue
		}
		at, ok := from.(*unix.SockaddrLinklayer)
		c.mu.Lock()
		c.frames = append(c.frames, Frame{bytes.Clone(buffer[:min(n, len(buffer))]), ok && at.Pkttype == unix.PACKET_OUTGOING})
		c.mu.Unlock()
	}
}

// Await waits until n frames have come for which is returns true, for at most Patience.
func (c *Capture) Await(n int, is func(Frame) bool) {
	poll.Until(Patience, 2*time.Millisecond, poll.True(func() bool { return c.count(is) >= n }))
}

func (c *Capture) count(is func(Frame) bool) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Count(c.frames, is)
}

// Has reports whether such a frame has come by now.
func (c *Capture) Has(is func(Frame) bool) bool { return c.count(is) > 0 }

// Stop waits for frames that are under way, and returns all frames.
func (c *Capture) Stop() []Frame {
	if !c.ending.Swap(true) {
		time.Sleep(Quiet)
		<-c.done
		unix.Close(c.fd)
	}
	<-c.done
	return c.frames
}

// Count counts the recorded frames for which is returns true.
func Count(frames []Frame, is func(Frame) bool) int {
	n := 0
	for _, f := range frames {
		if is(f) {
			n++
		}
	}
	return n
}

// Contains matches frames with a text in them.
func Contains(text string) func(Frame) bool {
	return func(f Frame) bool { return bytes.Contains(f.Data, []byte(text)) }
}

// Send sends frames as they are on a link of the namespace.
func (n Netns) Send(t testing.TB, link string, frames ...[]byte) {
	t.Helper()
	if err := n.TrySend(link, frames...); err != nil {
		t.Fatalf("send on %s in %s: %v", link, n.Name, err)
	}
}

// TrySend is Send for frames that the kernel may refuse: it answers ENOBUFS if a rule drops an
// outgoing frame.
func (n Netns) TrySend(link string, frames ...[]byte) error {
	fd := -1
	err := n.packetSocket(link, &fd)
	defer unix.Close(fd)
	for i := 0; i < len(frames) && err == nil; i++ {
		_, err = unix.Write(fd, frames[i])
		for full := 0; err == unix.ENOBUFS && full < 100; full++ { // the device sends as fast as it can
			time.Sleep(10 * time.Millisecond)
			_, err = unix.Write(fd, frames[i])
		}
		if err != nil {
			err = fmt.Errorf("frame %d of %d: %w", i+1, len(frames), err)
		}
	}
	return err
}

// Build makes a frame of its layers, with lengths and checksums.
func Build(t testing.TB, all ...gopacket.SerializableLayer) []byte {
	t.Helper()
	b := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(b, options, all...); err != nil {
		t.Fatalf("build a frame: %v", err)
	}
	return bytes.Clone(b.Bytes())
}
