package world

import (
	"errors"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Splice forwards every frame from one of two links of the namespace to the other, until the test
// ends. change may change the frame; it does not complete a checksum that was left to the NIC.
func (n Netns) Splice(t testing.TB, links [2]string, change func(frame []byte) []byte) {
	t.Helper()
	ends := [2]int{-1, -1}
	for i, link := range links {
		err := n.packetSocket(link, &ends[i])
		err = errors.Join(err, unix.SetsockoptInt(ends[i], unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
			unix.SetsockoptTimeval(ends[i], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100_000}))
		if err != nil {
			t.Fatalf("splice %v in %s: %v", links, n.Name, err)
		}
	}
	over := make(chan struct{})
	var both sync.WaitGroup
	for i := range ends {
		both.Go(func() { forwardFrames(ends[i], ends[1-i], change, over) })
	}
	t.Cleanup(func() {
		close(over)
		both.Wait()
		unix.Close(ends[0])
		unix.Close(ends[1])
	})
}

// forwardFrames copies frames until over is closed. It drops frames that cannot be sent.
func forwardFrames(from, to int, change func([]byte) []byte, over chan struct{}) {
	frame := make([]byte, 65536)
	for {
		select {
		case <-over:
			return
		default:
		}
		if n, err := unix.Read(from, frame); err == nil && n > 0 {
			unix.Write(to, change(frame[:n]))
		}
	}
}
