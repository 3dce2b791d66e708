// Package capture writes the packets of a crowd's users to a file, as they pass each user's own interface.
package capture

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/heddle-network/heddle/crowd/socket"
	"github.com/heddle-network/heddle/frames"
)

// Count is what was captured.
type Count struct {
	Packets uint64 `json:"packets"`
	Bytes   uint64 `json:"bytes"` // of the packets, also where less of them was written
	// Dropped are packets that the capture lost, as it was read too slowly or they could not be read; the users had them.
	Dropped uint64 `json:"dropped"`
	// Unwritten are packets that came after the file could not be written any more.
	Unwritten uint64 `json:"unwritten,omitempty"`
}

// Capture is a section of a pcapng file (draft-ietf-opsawg-pcapng), for one round. Each user is an interface of it. All methods may
// be called at once. Nil captures nothing.
type Capture struct {
	to    io.Writer
	title string
	most  int

	mu     sync.Mutex
	out    *pcapgo.NgWriter // from the first user on
	taps   map[int]*tap     // by user
	count  Count
	failed error
}

// New returns a capture that writes up to so many bytes of each packet; 0 is all. The title is the section's comment.
func New(to io.Writer, title string, most int) *Capture {
	return &Capture{to: to, title: title, most: most, taps: map[int]*tap{}}
}

// Add captures what a user, from 1, sends and receives by an interface of its namespace, until Take or Close.
func (c *Capture) Add(user int, name string, n socket.Namespace, device string) error {
	if c == nil {
		return nil
	}
	t := &tap{read: make(chan struct{})}
	err := n.Do(func() (err error) {
		t.socket, err = frames.OpenAll(device)
		return err
	})
	if err != nil {
		return fmt.Errorf("capture the packets of %s: %w", name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.number, err = c.add(name); err != nil {
		c.fail(err)
	}
	c.taps[user] = t
	go c.read(t)
	return nil
}

// add writes the description of an interface, after the section's own if it is the first one.
func (c *Capture) add(name string) (number int, err error) {
	of := pcapgo.NgInterface{Name: name, OS: "Linux", LinkType: layers.LinkTypeEthernet, SnapLength: uint32(c.most)}
	if c.out != nil {
		return c.out.AddInterface(of)
	}
	section := pcapgo.NgWriterOptions{SectionInfo: pcapgo.NgSectionInfo{OS: "Linux", Application: "heddle", Comment: c.title}}
	c.out, err = pcapgo.NewNgWriterInterface(c.to, of, section)
	return 0, err
}

func (c *Capture) write(number int, at time.Time, packet []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		c.count.Unwritten++
		return
	}
	length := len(packet)
	if c.most > 0 {
		packet = packet[:min(length, c.most)]
	}
	if c.fail(c.out.WritePacket(gopacket.CaptureInfo{Timestamp: at, CaptureLength: len(packet), Length: length, InterfaceIndex: number}, packet)); c.failed != nil {
		c.count.Unwritten++
		return
	}
	c.count.Packets++
	c.count.Bytes += uint64(length)
}

func (c *Capture) drop(packets uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count.Dropped += packets
}

// fail keeps the first failure to write. Nothing is written after it: a block may be there in part.
func (c *Capture) fail(err error) { c.failed = cmp.Or(c.failed, err) }

// Take ends the capture of users, for good, and lets go of their namespaces.
func (c *Capture) Take(users ...int) {
	if c == nil {
		return
	}
	var all []*tap
	c.mu.Lock()
	for _, user := range users {
		if t := c.taps[user]; t != nil {
			delete(c.taps, user)
			all = append(all, t)
		}
	}
	c.mu.Unlock()
	c.end(all)
}

// Close ends the capture, and returns what it has. The error is of the file, or of what it is written to.
func (c *Capture) Close() (Count, error) {
	if c == nil {
		return Count{}, nil
	}
	c.mu.Lock()
	var all []*tap
	for _, t := range c.taps {
		all = append(all, t)
	}
	clear(c.taps)
	c.mu.Unlock()
	slices.SortFunc(all, func(a, b *tap) int { return cmp.Compare(a.number, b.number) })
	c.end(all)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out != nil && c.failed == nil {
		c.fail(c.out.Flush())
	}
	return c.count, c.failed
}
