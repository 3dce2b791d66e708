package store_test

import (
	"net"
	"sync"
	"testing"

	"github.com/heddle-network/heddle/store"
)

// relay passes connections to a server, and can stop passing data.
type relay struct {
	listener net.Listener
	mu       sync.Mutex
	silent   chan struct{} // closed while it passes all on
	open     []net.Conn
}

func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: l, silent: make(chan struct{})}
	close(r.silent)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp4", to)
			if err != nil {
				near.Close()
				continue
			}
			r.mu.Lock()
			r.open = append(r.open, near, far)
			r.mu.Unlock()
			running.Go(func() { r.pass(far, near) })
			running.Go(func() { r.pass(near, far) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		r.heal()
		running.Wait()
	})
	return r
}

func (r *relay) pass(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		r.mu.Lock()
		silent := r.silent
		r.mu.Unlock()
		<-silent
		if _, werr := to.Write(buffer[:n]); err != nil || werr != nil {
			return
		}
	}
}

// hush holds back all further data, on old and new connections.
func (r *relay) hush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.silent = make(chan struct{})
}

// heal breaks the old connections and lets new ones through.
func (r *relay) heal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.open {
		c.Close()
	}
	r.open = nil
	select {
	case <-r.silent:
	default:
		close(r.silent)
	}
}

func (r *relay) options(k keeper) store.Options {
	return store.Options{Endpoints: []string{r.listener.Addr().String()}, TLS: k.client()}
}
