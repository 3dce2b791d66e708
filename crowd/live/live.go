// Package live shows a crowd's run to others while it goes on, and takes what they tell it.
package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/event"
	"github.com/heddle-network/heddle/crowd/round"
)

// Run is a run that goes on.
type Run struct {
	PID   int    `json:"pid"`
	Crowd string `json:"crowd"`
	Seed  uint64 `json:"seed"`
	Users int    `json:"users"`
	// Hosts is how many lab hosts have them; 0 is one.
	Hosts int `json:"hosts,omitempty"`
	// Part is the part of the crowd that it plays, such as 1/3; "" is all of it.
	Part  string    `json:"part,omitempty"`
	Modes []string  `json:"modes"`
	Began time.Time `json:"began"`
	// Servers are the services that can be given faults, Linked the personas whose links can be others.
	Servers []string `json:"servers,omitempty"`
	Linked  []string `json:"linked,omitempty"`
	// Rounds is how many there will be of each mode, Played how many there have been of all.
	Rounds int `json:"rounds"`
	Played int `json:"played"`
	// Stage is what the run last said.
	Stage string `json:"stage"`
	// Now is what the round that is being played has come to; nil before and after.
	Now *round.Live `json:"now,omitempty"`
}

// Server answers who asks for a run, or tells it something: root and this user, and nobody else. It listens at a socket whose
// name is in no file system (unix(7), abstract): it is gone with the process.
type Server struct {
	listener *net.UnixListener
	do       func(event.Command) (event.Done, error)
	end      func()
	told     chan struct{} // has a place for each command that is being done
	closed   chan struct{}

	mu     sync.Mutex
	run    Run
	enders []net.Conn // those who have asked for the end, and wait for it
}

// Serve shows a run of this process. What others tell it is done by do, and end ends the run. Both may be called by several at
// once. When the run has ended, the caller closes the server.
func Serve(run Run, do func(event.Command) (event.Done, error), end func()) (*Server, error) {
	run.PID, run.Began = os.Getpid(), time.Now()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: name(run.PID)})
	if err != nil {
		return nil, fmt.Errorf("show the run: %w", err)
	}
	s := &Server{listener: l, do: do, end: end, told: make(chan struct{}, maxTold), closed: make(chan struct{}), run: run}
	go s.accept()
	return s, nil
}

// Change changes what is shown.
func (s *Server) Change(change func(*Run)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.run)
}

// Close shows the run no more, and answers those who asked for its end.
func (s *Server) Close() {
	s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.enders {
		send(c, reply{})
	}
	close(s.closed)
}

const (
	// patience is how long either side waits for the other's words.
	patience = 2 * time.Second
	// atOnce is how many are read at once. All others wait.
	atOnce = 16
	// maxTold is how many commands are done at once, or wait for each other. Others are refused.
	maxTold = 64
)

func (s *Server) accept() {
	places := make(chan struct{}, atOnce)
	for {
		c, err := s.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as too many open files: it may pass
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if !trusted(c) {
			c.Close()
			continue
		}
		places <- struct{}{}
		go func() {
			defer c.Close()
			c.SetReadDeadline(time.Now().Add(patience))
			q, err := readRequest(c)
			<-places // what it asks may take long
			s.answer(c, q, err)
		}()
	}
}

// tell does a command, unless many are being done.
func (s *Server) tell(c event.Command) (event.Done, error) {
	select {
	case s.told <- struct{}{}:
		defer func() { <-s.told }()
		return s.do(c)
	default:
		return event.Done{}, heddle.Errorf(heddle.CrowdFailed, "tell crowd", "", fmt.Sprintf("it does %d things already, one after the other", maxTold), "wait, and try again")
	}
}

// waits has Close answer who asks for the end. It reports whether that is still to come.
func (s *Server) waits(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		return false
	default:
		s.enders = append(s.enders, c)
		return true
	}
}

// answer answers a request, or says why it is none.
func (s *Server) answer(c net.Conn, q request, err error) {
	var r reply
	switch {
	case err != nil:
	case q.Show:
		s.mu.Lock()
		run := s.run
		s.mu.Unlock()
		r.Run = &run
	case q.End && s.waits(c):
		s.end()
		<-s.closed
		return
	case q.End: // it has ended already
	default:
		r.Done, err = s.tell(*q.Command)
	}
	if err != nil {
		r.Error = errorOf(err)
	}
	send(c, r)
}

// send sends a reply. The other end may be gone.
func send(c net.Conn, r reply) {
	c.SetWriteDeadline(time.Now().Add(patience))
	json.NewEncoder(c).Encode(r)
}
