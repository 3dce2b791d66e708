package service

import (
	"cmp"
	"errors"
	"net"
	"os"
	"time"
)

// State is how a server is.
type State int

// The states of a server.
const (
	Sound State = iota
	// Down has no listener: connections are refused, those that are open are reset.
	Down
	// Silent takes connections and requests, and answers when it is sound again.
	Silent
)

// Set makes the server so. If it cannot listen again, it stays down, and the error has the kernel's message. A server that
// is closed stays so.
func (s *Server) Set(to State) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.state == to {
		return nil
	}
	if s.state == Down {
		if err := s.listen(); err != nil {
			return err
		}
	}
	if to == Down { // before who waits for an answer could get it
		s.hangUp(true)
	}
	if g := s.gate.Swap(nil); g != nil {
		close(*g)
	}
	if to == Silent {
		g := make(chan struct{})
		s.gate.Store(&g)
	}
	s.state = to
	return nil
}

// hangUp closes listeners and connections; reset is as when a program ends whose connections have something unread.
func (s *Server) hangUp(reset bool) {
	for _, l := range s.listeners {
		l.Close()
	}
	s.listeners = nil
	for c := range s.open {
		if reset {
			cut(c)
		}
		c.Close()
	}
}

// Sweep resets the connections of those who are guests no more.
func (s *Server) Sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		if !s.Guests.sent(c) {
			cut(c)
			c.Close()
		}
	}
}

// cut has the connection reset when it is closed: nothing of it waits for an answer.
func cut(c net.Conn) {
	if tcp, is := c.(*net.TCPConn); is {
		tcp.SetLinger(0)
	}
}

// held is a connection whose writes wait while its server is silent.
type held struct {
	net.Conn
	server *Server
}

// Write writes what the connection may say.
func (h held) Write(b []byte) (int, error) {
	for g := h.server.gate.Load(); g != nil; g = h.server.gate.Load() {
		if err := until(h.Conn, *g); err != nil {
			return 0, err
		}
	}
	return h.Conn.Write(b)
}

// errTalks ends a connection that sends something while it should wait for an answer.
var errTalks = errors.New("it does not wait for its answer")

// until waits for a channel's end, or that of a connection: who has given up holds nothing here.
func until(c net.Conn, opened <-chan struct{}) error {
	ended := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		ended <- cmp.Or(err, errTalks)
	}()
	select {
	case err := <-ended:
		return err
	case <-opened:
	}
	c.SetReadDeadline(time.Unix(1, 0))
	defer c.SetReadDeadline(time.Time{})
	if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return nil
}
