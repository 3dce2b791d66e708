package libvirt

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
)

// minMessage and maxMessage bound a message of libvirt's protocol, in bytes: its length and its header, and VIR_NET_MESSAGE_MAX
// (libvirt's src/rpc/virnetprotocol.x).
const minMessage, maxMessage = 28, 32 << 20

var errStrange = errors.New("who listens there does not speak libvirt's protocol")

// checked is a connection that ends at a message of an impossible length. go-libvirt believes all lengths: it would take all memory, or
// panic.
type checked struct {
	net.Conn
	length [4]byte // of the message that is being read
	unread []byte  // of length
	left   int     // bytes of the message, with those of unread

	mu  sync.Mutex
	err error // why it has ended, if that was a message
}

func (c *checked) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *checked) Read(p []byte) (n int, err error) {
	if c.left == 0 {
		if _, err := io.ReadFull(c.Conn, c.length[:]); err != nil {
			return 0, err
		}
		size := binary.BigEndian.Uint32(c.length[:])
		if size < minMessage || size > maxMessage {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.err = errStrange
			return 0, c.err
		}
		c.left, c.unread = int(size), c.length[:]
	}
	if len(c.unread) > 0 {
		n = copy(p, c.unread)
		c.unread = c.unread[n:]
	} else {
		n, err = c.Conn.Read(p[:min(len(p), c.left)])
	}
	c.left -= n
	return n, err
}
