package allocation_test

import (
	"net"
	"sync"
	"time"
)

// relay passes one agent's connections on to one member of the store, as the
// network between them would: both ways, one way or not at all.
type relay struct {
	listener net.Listener
	to       string

	mu   sync.Mutex
	up   chan struct{} // closed while what the agent says gets through
	down chan struct{} // closed while what the store says gets through
	open map[net.Conn]bool
	over bool
}

func newRelay(to string) (*relay, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &relay{listener: l, to: to, up: passing(), down: passing(), open: map[net.Conn]bool{}}
	go r.accept()
	return r, nil
}

func passing() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func (r *relay) accept() {
	for {
		near, err := r.listener.Accept()
		if err != nil {
			return
		}
		go func() {
			far, err := net.DialTimeout("tcp4", r.to, time.Second)
			if err != nil {
				near.Close()
				return
			}
			r.keep(near, far)
			go r.pass(near, far, false)
			r.pass(far, near, true)
		}()
	}
}

func (r *relay) keep(all ...net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range all {
		r.open[c] = true
		if r.over {
			c.Close()
		}
	}
}

// pass copies what is said. What was said before a cut is not lost: it arrives
// when the cut is healed, however late that is.
func (r *relay) pass(to, from net.Conn, up bool) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		r.mu.Lock()
		way := r.down
		if up {
			way = r.up
		}
		r.mu.Unlock()
		<-way
		if n > 0 {
			if _, werr := to.Write(buffer[:n]); werr != nil {
				err = werr
			}
		}
		if err != nil {
			to.Close()
			from.Close()
			r.mu.Lock()
			delete(r.open, to)
			delete(r.open, from)
			r.mu.Unlock()
			return
		}
	}
}

// cut holds back what is said from now on, in the ways given.
func (r *relay) cut(up, down bool) {
	r.heal()
	r.mu.Lock()
	defer r.mu.Unlock()
	if up {
		r.up = make(chan struct{})
	}
	if down {
		r.down = make(chan struct{})
	}
}

// heal lets everything through, first what was held back.
func (r *relay) heal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, way := range []*chan struct{}{&r.up, &r.down} {
		select {
		case <-*way:
		default:
			close(*way)
		}
	}
}

func (r *relay) close() {
	r.heal()
	r.listener.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	for c := range r.open {
		c.Close()
	}
}
