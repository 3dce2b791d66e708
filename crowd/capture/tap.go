package capture

import (
	"errors"
	"os"
	"time"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/heddle-network/heddle/frames"
	"github.com/heddle-network/heddle/impair"
)

// tap is where the packets of one user are read.
type tap struct {
	socket *frames.Socket
	number int           // of the interface
	read   chan struct{} // closed when nothing is read any more
}

// At the end, packets are still read that came before: until none has come for drainTime, but no more than maxDrains times as long.
const (
	drainTime = 100 * time.Millisecond
	maxDrains = 50
)

// read reads the packets of a user, until none comes any more after the first deadline.
func (c *Capture) read(t *tap) {
	defer close(t.read)
	for since, drains := 0, 0; ; {
		b, at, err := t.socket.Next()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && since > 0 && drains < maxDrains:
			since, drains = 0, drains+1
			t.socket.SetReadDeadline(time.Now().Add(drainTime))
		case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, os.ErrClosed):
			return
		case err != nil: // one that could not be read
			c.drop(1)
		case len(b) > impair.HeaderSize:
			since++
			c.write(t.number, at, b[impair.HeaderSize:])
		}
	}
}

// end reads what has come, says of each interface how many packets were dropped, and closes the sockets.
func (c *Capture) end(all []*tap) {
	if len(all) == 0 {
		return
	}
	for _, t := range all {
		t.socket.SetReadDeadline(time.Now().Add(drainTime))
	}
	for _, t := range all {
		<-t.read
		dropped, _ := t.socket.Dropped() // a socket that is open says it
		c.mu.Lock()
		c.count.Dropped += dropped
		if c.failed == nil {
			c.fail(c.out.WriteInterfaceStats(t.number, pcapgo.NgInterfaceStatistics{LastUpdate: time.Now(), PacketsReceived: pcapgo.NgNoValue64, PacketsDropped: dropped}))
		}
		c.mu.Unlock()
	}
	var sockets []*frames.Socket
	for _, t := range all {
		sockets = append(sockets, t.socket)
	}
	frames.Close(sockets...)
}
