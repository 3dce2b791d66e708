package kernel

import (
	"errors"
	"fmt"
	"sync"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// conn is a netlink socket in one network namespace. The library's socket hides what an attach
// needs: several messages in one send, the kernel's extended acknowledgement, and NLM_F_EXCL with
// the errno of each nftables message. Messages are encoded and decoded with the library's package
// nl.
type conn struct {
	mu   sync.Mutex
	fd   int
	next uint32 // sequence number of the next request
	buf  []byte
	// inParts has the kernel give dumps in small parts. It makes each part of a dump in one go, and a
	// kernel without preemption lets nobody else have that processor meanwhile. Of 8,000 interfaces,
	// each took 0.1 ms on Linux 6.18, since rtnl_fill_link_netnsid looks through all namespaces.
	inParts bool
}

// The kernel fills at most 32 KiB of a dump at once, however large the buffer.
const receiveSize = 32 << 10

// dial opens a socket in the calling thread's namespace.
func dial(protocol int) (*conn, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return nil, err
	}
	c := &conn{fd: fd, next: 1}
	// An answer is queued before sendto returns. With the time limit a lost answer becomes an error
	// and does not block the agent.
	limit := unix.Timeval{Sec: 30}
	err = errors.Join(
		unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}),
		receiveBuffer(fd),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit),
		unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_EXT_ACK, 1),
		unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_CAP_ACK, 1),
		// The kernel filters dumps (by protocol, by interface) only for sockets that promise
		// well-formed requests.
		unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_GET_STRICT_CHK, 1))
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// receiveBuffer makes room for the answers to a batch whose messages are all refused. Each answer
// takes about 1,300 bytes of the kernel's memory, whatever its length.
func receiveBuffer(fd int) error {
	const bytes = 2 << 20
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, bytes) == nil {
		return nil
	}
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, bytes) // without the right to force it, as much as is allowed
}

func (c *conn) close() error { return unix.Close(c.fd) }

// refusal is the kernel's answer to a refused request: an errno and, if the kernel gives one, a
// message (NLMSGERR_ATTR_MSG).
type refusal struct {
	errno unix.Errno
	words string
}

func (r *refusal) Error() string {
	if r.words == "" {
		return r.errno.Error()
	}
	return r.errno.Error() + ": " + r.words
}

func (r *refusal) Unwrap() error { return r.errno }

// execute sends the requests together and waits for an acknowledgement of each. The kernel handles
// all of them in order, also after a failure. The first failure is returned.
func (c *conn) execute(reqs ...*nl.NetlinkRequest) error {
	_, err := c.exchange(nil, reqs...)
	return err
}

// get sends a request for one object and passes its answer to each.
func (c *conn) get(req *nl.NetlinkRequest, each func(kind uint16, payload []byte)) error {
	_, err := c.exchange(each, req)
	return err
}

// exchange is like execute, and passes messages other than acknowledgements to each; interrupted
// says that objects changed during a dump.
func (c *conn) exchange(each func(uint16, []byte), reqs ...*nl.NetlinkRequest) (interrupted bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.next
	if err := c.send(reqs); err != nil {
		return false, err
	}
	for open := len(reqs); open > 0; {
		msgs, errRead := c.receive(0)
		if errRead != nil {
			return false, errRead
		}
		for _, m := range msgs {
			if m.Header.Seq < first {
				continue // a late answer to an abandoned exchange
			}
			interrupted = interrupted || m.Header.Flags&unix.NLM_F_DUMP_INTR != 0
			switch m.Header.Type {
			case unix.NLMSG_DONE, unix.NLMSG_ERROR:
				open--
				if r := parseAck(m); r != nil && err == nil {
					err = r
				}
			default:
				if each != nil {
					each(m.Header.Type, m.Data)
				}
			}
		}
	}
	return interrupted, err
}

func (c *conn) send(reqs []*nl.NetlinkRequest) error {
	var out []byte
	for _, r := range reqs {
		r.Seq = c.next
		c.next++
		out = append(out, r.Serialize()...)
	}
	return unix.Sendto(c.fd, out, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
}

// errShort says that the kernel's answer did not fit the buffer.
var errShort = errors.New("truncated netlink message")

// receive waits for the next datagram, and returns its messages.
func (c *conn) receive(flags int) ([]message, error) {
	room := receiveSize
	if c.inParts {
		var err error
		if room, err = c.recv(nil, flags|unix.MSG_PEEK); err != nil {
			return nil, err
		}
	}
	if len(c.buf) < room {
		c.buf = make([]byte, room)
	}
	n, err := c.recv(c.buf[:room], flags)
	switch {
	case err != nil:
		return nil, err
	case n > room:
		return nil, errShort
	}
	return split(c.buf[:n])
}

// recv reads the next datagram into a buffer, and returns its size. The largest buffer with which a
// socket has read is the size of the parts that the kernel makes of a dump from then on, or else it is
// a page (netlink_dump in net/netlink/af_netlink.c).
func (c *conn) recv(into []byte, flags int) (size int, err error) {
	for {
		size, _, err := unix.Recvfrom(c.fd, into, flags|unix.MSG_TRUNC)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, fmt.Errorf("netlink answer: %w", err)
		}
		return size, nil
	}
}
