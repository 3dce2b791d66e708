package kernel

import (
	"sync"
	"time"
)

// openTimeout is how long the resolution of a path may take. A path below another root leads
// through file systems of a container, which may not answer.
const openTimeout = time.Second

// openInTime opens a namespace; nil if that fails. If resolving the path takes longer than
// openTimeout, the path is recorded in slowPaths. It is not tried again until that attempt has
// ended, since each attempt blocks a thread.
func openInTime(path string) *Netns {
	if slowPaths.has(path) {
		return nil
	}
	opened, late := make(chan *Netns), make(chan struct{})
	go func() {
		n, err := OpenNetns(path)
		if err != nil {
			n = nil
		}
		select {
		case opened <- n:
		case <-late:
			slowPaths.end(path)
			if n != nil {
				n.Close()
			}
		}
	}()
	select {
	case n := <-opened:
		return n
	case <-time.After(openTimeout):
		slowPaths.begin(path)
		close(late)
		return nil
	}
}

// slowPaths are the paths whose resolution has taken longer than openTimeout.
var slowPaths pathCounts

type pathCounts struct {
	mu sync.Mutex
	// count is the number of attempts per path: several may have begun at the same time.
	count map[string]int
}

func (h *pathCounts) has(path string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count[path] > 0
}

func (h *pathCounts) begin(path string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count == nil {
		h.count = map[string]int{}
	}
	h.count[path]++
}

func (h *pathCounts) end(path string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count[path]--; h.count[path] == 0 {
		delete(h.count, path)
	}
}
