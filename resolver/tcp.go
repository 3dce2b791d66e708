package resolver

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"time"
)

// How long a connection may be silent, and how long a reply may take to be sent.
const idleTime, sendTime = 10 * time.Second, 5 * time.Second

// serveTCP answers at an address until the socket is closed.
func (s *server) serveTCP(at netip.Addr, l *net.TCPListener) {
	for {
		c, err := l.AcceptTCP()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			time.Sleep(errorPause)
			continue
		}
		from := c.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
		asker := s.table.Load().Asker(at, from)
		if asker == nil {
			s.counts.foreign.Add(1)
			c.Close()
			continue
		}
		account := s.accounts.of(asker.Container)
		if !takeBoth(&account.connections, &s.accounts.connections) {
			s.counts.limited.Add(1)
			account.denied.connections.add()
			c.Close()
			continue
		}
		go func() {
			defer s.accounts.connections.give()
			defer account.connections.give()
			defer c.Close()
			for s.converse(at, from, c) {
			}
		}()
	}
}

// converse answers one question, and reports whether there may be another one.
func (s *server) converse(at, from netip.Addr, c *net.TCPConn) bool {
	c.SetReadDeadline(time.Now().Add(idleTime))
	var size [2]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return false
	}
	n := binary.BigEndian.Uint16(size[:])
	if n > maxQuery {
		return false
	}
	packet := make([]byte, n)
	if _, err := io.ReadFull(c, packet); err != nil {
		return false
	}
	asker := s.table.Load().Asker(at, from)
	if asker == nil { // it has left meanwhile
		return false
	}
	replied := make(chan []byte, 1)
	if !s.answer(asker, true, packet, func(reply []byte) { replied <- reply }) {
		return false
	}
	reply := <-replied
	c.SetWriteDeadline(time.Now().Add(sendTime))
	_, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
	return err == nil
}
