package world

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"
)

// SCTP over raw sockets, for kernels that only track it: a call is an INIT chunk, and the answer an
// INIT ACK with the server's greeting as its state cookie (RFC 9260, sections 3.3.2 and 3.3.3). Both
// sides check the checksum, which whoever translates a port has to compute anew.

const (
	chunkInit, chunkInitAck = 1, 2
	parameterCookie         = 7
	sctpHeader, sctpChunk   = 12, 20
	callerTag, serverTag    = 0x68656464, 0x6c652121
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sctpPacket is a packet with one chunk.
type sctpPacket struct {
	from, to uint16
	tag      uint32
	chunk    byte
	// initiate is the tag that the sender wants in packets to it.
	initiate uint32
	cookie   string
}

func (p sctpPacket) bytes() []byte {
	b := make([]byte, sctpHeader+sctpChunk)
	binary.BigEndian.PutUint16(b, p.from)
	binary.BigEndian.PutUint16(b[2:], p.to)
	binary.BigEndian.PutUint32(b[4:], p.tag)
	chunk := b[sctpHeader:]
	chunk[0] = p.chunk
	binary.BigEndian.PutUint32(chunk[4:], p.initiate)
	binary.BigEndian.PutUint32(chunk[8:], 1<<16) // the receiver's window
	binary.BigEndian.PutUint16(chunk[12:], 1)    // streams out and in
	binary.BigEndian.PutUint16(chunk[14:], 1)
	binary.BigEndian.PutUint32(chunk[16:], 1) // the first number of a transmission
	length := sctpChunk
	if p.cookie != "" {
		length += 4 + len(p.cookie)
		b = binary.BigEndian.AppendUint16(b, parameterCookie)
		b = binary.BigEndian.AppendUint16(b, uint16(4+len(p.cookie)))
		b = append(b, p.cookie...)
		b = append(b, make([]byte, (4-len(b)%4)%4)...)
	}
	binary.BigEndian.PutUint16(b[sctpHeader+2:], uint16(length))
	binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b, castagnoli))
	return b
}

// SCTPCall is a call, with words in it.
func SCTPCall(from, to uint16, words string) []byte {
	return sctpPacket{from: from, to: to, chunk: chunkInit, initiate: callerTag, cookie: words}.bytes()
}

func parseSCTP(b []byte) (p sctpPacket, ok bool) {
	if len(b) < sctpHeader+sctpChunk {
		return p, false
	}
	sum := binary.LittleEndian.Uint32(b[8:])
	binary.LittleEndian.PutUint32(b[8:], 0)
	chunk := b[sctpHeader:]
	p = sctpPacket{from: binary.BigEndian.Uint16(b), to: binary.BigEndian.Uint16(b[2:]), tag: binary.BigEndian.Uint32(b[4:]),
		chunk: chunk[0], initiate: binary.BigEndian.Uint32(chunk[4:])}
	if length := int(binary.BigEndian.Uint16(chunk[2:])); length > sctpChunk+4 && length <= len(chunk) {
		p.cookie = string(chunk[sctpChunk+4 : length])
	}
	return p, sum == crc32.Checksum(b, castagnoli)
}

// rawSCTP opens a socket for packets to an address of the namespace.
func (n Netns) rawSCTP(at netip.Addr) (c *net.IPConn, err error) {
	network := "ip4:132"
	if at.Is6() {
		network = "ip6:132"
	}
	err = n.Do(func() error {
		c, err = net.ListenIP(network, &net.IPAddr{IP: at.AsSlice()})
		return err
	})
	return c, err
}

func (n Netns) listenSCTP(t testing.TB, at netip.AddrPort) error {
	c, err := n.rawSCTP(at.Addr())
	if err != nil {
		return err
	}
	t.Cleanup(func() { c.Close() })
	go func() {
		buffer := make([]byte, 2048)
		for {
			size, from, err := c.ReadFromIP(buffer)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			p, ok := parseSCTP(buffer[:max(size, 0)])
			if err != nil || !ok || p.to != at.Port() || p.chunk != chunkInit {
				continue
			}
			caller, _ := netip.AddrFromSlice(from.IP)
			answer := sctpPacket{from: p.to, to: p.from, tag: p.initiate, chunk: chunkInitAck, initiate: serverTag,
				cookie: string(n.greeting(netip.AddrPortFrom(caller.Unmap(), p.from)))}
			c.WriteToIP(answer.bytes(), from)
		}
	}()
	return nil
}

// askSCTP calls a server until it answers, or the time is over.
func (n Netns) askSCTP(from, to netip.AddrPort, limit time.Duration) (a Answer, err error) {
	if !from.IsValid() {
		from = netip.AddrPortFrom(map[bool]netip.Addr{true: netip.IPv4Unspecified(), false: netip.IPv6Unspecified()}[to.Addr().Is4()], 40000)
	}
	c, err := n.rawSCTP(from.Addr())
	if err != nil {
		return a, err
	}
	defer c.Close()
	call := sctpPacket{from: from.Port(), to: to.Port(), chunk: chunkInit, initiate: callerTag}.bytes()
	buffer := make([]byte, 2048)
	for over := time.Now().Add(limit); time.Now().Before(over); {
		if _, err := c.WriteToIP(call, &net.IPAddr{IP: to.Addr().AsSlice()}); err != nil {
			return a, fmt.Errorf("sctp from %s to %s: %w", n.Name, to, err)
		}
		c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		for {
			size, who, err := c.ReadFromIP(buffer)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				break
			} else if err != nil {
				return a, fmt.Errorf("sctp from %s to %s: %w", n.Name, to, err)
			}
			p, ok := parseSCTP(buffer[:size])
			answers, _ := netip.AddrFromSlice(who.IP)
			if !ok || p.chunk != chunkInitAck || p.tag != callerTag || p.from != to.Port() || answers.Unmap() != to.Addr() {
				continue
			}
			server, seen, _ := strings.Cut(strings.TrimSpace(p.cookie), " ")
			a.Server = server
			a.Seen, err = netip.ParseAddr(seen)
			return a, err
		}
	}
	return a, fmt.Errorf("no answer from sctp %s to %s", to, n.Name)
}
