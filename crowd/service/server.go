package service

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-network/heddle/crowd/payload"
)

// Server answers requests of its guests. Its zero value is ready, and has none.
type Server struct {
	// Guests may be those of other servers, too.
	Guests *Guests

	mu        sync.Mutex
	closed    bool
	state     State
	places    []func() (net.Listener, error)
	listeners []net.Listener // of all places, unless it is down
	open      map[net.Conn]struct{}
	gate      atomic.Pointer[chan struct{}] // while it is silent: closed when it is not
	running   sync.WaitGroup
}

// Serve listens at a place, and takes connections there until the server is closed. It returns at once. When the server
// has been down, it listens there again.
func (s *Server) Serve(place func() (net.Listener, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	l, err := place()
	if err != nil {
		return err
	}
	s.places = append(s.places, place)
	s.take(l)
	return nil
}

// listen listens at all places, or at none.
func (s *Server) listen() error {
	var all []net.Listener
	for _, place := range s.places {
		l, err := place()
		if err != nil {
			for _, l := range all {
				l.Close()
			}
			return err
		}
		all = append(all, l)
	}
	for _, l := range all {
		s.take(l)
	}
	return nil
}

// take takes connections from a listener, until it is closed.
func (s *Server) take(l net.Listener) {
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
			answer(held{c, s})
		})
	}
}

// add reports whether the server answers a connection.
func (s *Server) add(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.state == Down || s.Guests == nil || !s.Guests.sent(c) {
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
	s.hangUp(false)
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
		switch {
		case err != nil:
		case r.Known:
			_, err = c.Write([]byte{notModified})
		default:
			err = payload.Fill(c, r.Answer)
		}
		if err != nil {
			return
		}
	}
}
