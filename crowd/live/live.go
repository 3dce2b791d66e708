// Package live shows a crowd's run to others while it goes on.
package live

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/heddle-network/heddle/crowd/round"
)

// Run is a run that goes on.
type Run struct {
	PID   int       `json:"pid"`
	Crowd string    `json:"crowd"`
	Seed  uint64    `json:"seed"`
	Users int       `json:"users"`
	Modes []string  `json:"modes"`
	Began time.Time `json:"began"`
	// Rounds is how many there will be of each mode, Played how many there have been of all.
	Rounds int `json:"rounds"`
	Played int `json:"played"`
	// Stage is what the run last said.
	Stage string `json:"stage"`
	// Now is what the round that is being played has come to; nil before and after.
	Now *round.Live `json:"now,omitempty"`
}

// Server answers who asks for a run. It listens at a socket whose name is in no file system (unix(7), abstract): it is
// gone with the process.
type Server struct {
	listener *net.UnixListener

	mu  sync.Mutex
	run Run
}

// Serve shows a run of this process.
func Serve(run Run) (*Server, error) {
	run.PID, run.Began = os.Getpid(), time.Now()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: name(run.PID)})
	if err != nil {
		return nil, fmt.Errorf("show the run: %w", err)
	}
	s := &Server{listener: l, run: run}
	go s.answer()
	return s, nil
}

// Change changes what is shown.
func (s *Server) Change(change func(*Run)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.run)
}

// Close shows the run no more.
func (s *Server) Close() { s.listener.Close() }

// patience is how long either side waits for the other.
const patience = 2 * time.Second

func (s *Server) answer() {
	for {
		c, err := s.listener.AcceptUnix()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			if !trusted(c) {
				return
			}
			s.mu.Lock()
			text, err := json.Marshal(s.run)
			s.mu.Unlock()
			if err == nil {
				c.SetDeadline(time.Now().Add(patience))
				c.Write(text)
			}
		}()
	}
}
