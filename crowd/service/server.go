package service

import (
	"errors"
	"net"
	"sync"
	"time"
)

// Server answers requests. Its zero value is ready.
type Server struct {
	mu        sync.Mutex
	closed    bool
	listeners []net.Listener
	open      map[net.Conn]struct{}
	running   sync.WaitGroup
}

// Serve takes connections from a listener until the server is closed, or the listener fails. It returns at once.
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
			return
		}
		s.running.Go(func() {
			defer s.remove(c)
			answer(c)
		})
	}
}

func (s *Server) add(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[net.Conn]struct{}{}
	}
	if !s.closed {
		s.open[c] = struct{}{}
	}
	return !s.closed
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
			err = discard(c, r.Size-HeaderSize)
		}
		if err == nil {
			err = fill(c, r.Answer)
		}
		if err != nil {
			return
		}
	}
}
