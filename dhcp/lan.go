package dhcp

import (
	"errors"
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

// send sends a machine's frames. If the LAN cannot be reached, the machine asks again when it would
// without an answer.
func (c *Client) send(k *keeper, frames [][]byte) {
	if c.closed || len(frames) == 0 && k.listens() == k.hears {
		return
	}
	if c.broken = c.trySend(k, frames); c.broken != nil {
		c.drop() // its interface may have gone, and another one of that name have come
		c.broken = c.trySend(k, frames)
	}
}

// listens reports whether frames to the MAC address are wanted: who has the address that is probed sends
// its answer there.
func (k *keeper) listens() bool { return k.lease.State == probing }

func (c *Client) trySend(k *keeper, frames [][]byte) (err error) {
	if c.wire == nil {
		w, err := c.open()
		if err != nil {
			return err
		}
		c.wire = w
		c.reader.Go(func() { c.read(w) })
	}
	if on := k.listens(); on != k.hears {
		err = c.wire.Hear(k.id.MAC, on)
		k.hears = on
	}
	for _, b := range frames {
		err = errors.Join(err, c.wire.Send(b))
	}
	return err
}

// drop closes the LAN; it is opened again when something is to be sent.
func (c *Client) drop() {
	if c.wire == nil {
		return
	}
	c.wire.Close()
	c.wire = nil
	for _, k := range c.leases {
		k.hears = false
	}
}

// read takes what comes from a LAN until that is closed.
func (c *Client) read(w Wire) {
	for {
		b, err := w.Next()
		switch {
		case errors.Is(err, os.ErrClosed):
			return
		case err != nil:
			time.Sleep(probeWait) // the frame is lost
			continue
		}
		m, a := Parse(b)
		now := time.Now()
		switch {
		case m != nil:
			c.each(func(k *keeper) [][]byte { return k.Receive(now, *m) })
		case a != nil && c.isProbing():
			c.each(func(k *keeper) [][]byte { return k.Heard(now, *a) })
		}
	}
}

// isProbing reports whether ARP matters now: a LAN may have much of it.
func (c *Client) isProbing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.leases {
		if k.lease.State == probing {
			return true
		}
	}
	return false
}
