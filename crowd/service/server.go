package service

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/heddle-network/heddle/crowd/payload"
)

// Server answers requests of those that it admits. Its zero value is ready, and admits nobody.
type Server struct {
	mu        sync.Mutex
	closed    bool
	admitted  map[netip.Addr]struct{}
	listeners []net.Listener
	open      map[net.Conn]struct{}
	running   sync.WaitGroup
}

// Admit has the server answer those who have these addresses. Others may be on the network, too: their connections are
// closed.
func (s *Server) Admit(addrs ...netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.admitted == nil {
		s.admitted = map[netip.Addr]struct{}{}
	}
	for _, a := range addrs {
		s.admitted[a] = struct{}{}
	}
}

// Serve takes connections from a listener until the server is closed. It returns at once.
func (s *Server) Serve(l net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		l.Close()
		return
	}
	s.listeners = append(s.listeners, l)
	s.running.Go(func() { s.accept(l) })
}

func (s *Server) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as too many open files: it may pass
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if !s.add(c) {
			c.Close()
			continue
		}
		s.running.Go(func() {
			defer s.remove(c)
			answer(c)
		})
	}
}

// add reports whether the server answers a connection.
func (s *Server) add(c net.Conn) bool {
	from, is := c.RemoteAddr().(*net.TCPAddr)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !is {
		return false
	}
	if _, admitted := s.admitted[from.AddrPort().Addr().Unmap()]; !admitted {
		return false
	}
	if s.open == nil {
		s.open = map[net.Conn]struct{}{}
	}
	s.open[c] = struct{}{}
	return true
}

func (s *Server) remove(c net.Conn) {
	c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
}

// Close ends all connections, and waits until they have ended.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for _, l := range s.listeners {
		l.Close()
	}
	for c := range s.open {
		c.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// answer answers the requests of a connection until it ends, or sends what is no request.
func answer(c net.Conn) {
	for {
		r, err := readRequest(c)
		if err == nil {
			err = payload.Discard(c, r.Size-headerSize)
		}
		if err == nil {
			err = payload.Fill(c, r.Answer)
		}
		if err != nil {
			return
		}
	}
}
