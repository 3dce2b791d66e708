package dhcp

import (
	"errors"
	"maps"
	"os"
	"time"

	"github.com/heddle-network/heddle"
)

// Wire is a LAN, as kernel.Wire is.
type Wire interface {
	Send(frame []byte) error
	// Next returns the next frame; nil if there was none after all. After Close the error is os.ErrClosed.
	Next() ([]byte, error)
	// Hear takes frames to a MAC address of nobody on this host, or not any more.
	Hear(mac heddle.MAC, on bool) error
	Close() error
}

// flush sends what the machines have said. Of what cannot be sent on a LAN that is opened anew either,
// the rest is lost: the machines ask again when they would without an answer.
func (c *Client) flush() {
	c.sending.Lock()
	defer c.sending.Unlock()
	c.mu.Lock()
	frames, hear, closed := c.out, c.listening(), c.closed
	c.out = nil
	c.mu.Unlock()
	if closed || len(frames) == 0 && maps.Equal(hear, c.heard) {
		return
	}
	rest, err := c.trySend(frames, hear)
	if err != nil {
		c.drop() // its interface may have gone, and another one of that name have come
		_, err = c.trySend(rest, hear)
	}
	c.mu.Lock()
	c.broken = err
	c.mu.Unlock()
}

// listening are the MAC addresses to which frames are wanted: servers may answer there, and DHCPv6 servers do; and so does who has the
// address that is probed.
func (c *Client) listening() map[heddle.MAC]bool {
	all := map[heddle.MAC]bool{}
	for _, k := range c.leases {
		if k.listens() {
			all[k.id.MAC] = true
		}
		if k.six != nil {
			for _, mac := range k.six.Hears() {
				all[mac] = true
			}
		}
	}
	return all
}

// trySend returns what is not sent.
func (c *Client) trySend(frames [][]byte, hear map[heddle.MAC]bool) (rest [][]byte, err error) {
	if c.wire == nil {
		w, err := c.open()
		if err != nil {
			return frames, err
		}
		c.wire = w
		c.reader.Go(func() { c.read(w) })
	}
	for mac := range c.heard {
		if !hear[mac] {
			err = errors.Join(err, c.wire.Hear(mac, false))
		}
	}
	for mac := range hear {
		if !c.heard[mac] {
			err = errors.Join(err, c.wire.Hear(mac, true))
		}
	}
	c.heard = hear
	for i, b := range frames {
		if failed := c.wire.Send(b); failed != nil {
			return frames[i:], errors.Join(err, failed)
		}
	}
	return nil, err
}

// drop closes the LAN; it is opened again when something is to be sent.
func (c *Client) drop() {
	if c.wire != nil {
		c.wire.Close()
		c.wire, c.heard = nil, nil
	}
}

// read takes what comes from a LAN until that is closed.
func (c *Client) read(w Wire) {
	var advertisements allowance
	for {
		b, err := w.Next()
		switch {
		case errors.Is(err, os.ErrClosed):
			return
		case err != nil:
			time.Sleep(probeWait) // the frame is lost
			continue
		}
		m, a := Parse(b, c.asks)
		now := time.Now()
		switch {
		case m != nil:
			c.step(func(k *keeper) bool { return k.asks(m.XID, m.MAC) }, func(k *keeper) [][]byte { return k.Receive(now, *m) })
		case a != nil:
			c.step(func(k *keeper) bool { return k.minds(*a) }, func(k *keeper) [][]byte { return k.Heard(now, *a) })
		default:
			c.read6(now, b, &advertisements)
		}
	}
}

// asks reports whether somebody here awaits the answer to a transaction.
func (c *Client) asks(xid uint32, mac heddle.MAC) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.leases {
		if k.asks(xid, mac) {
			return true
		}
	}
	return false
}
