package kernel

import (
	"sync"
	"time"
)

// wayTime is how long a path may take to be followed: one below another root leads
// through file systems of a container, which need not answer.
const wayTime = time.Second

// openWay opens a namespace; nil if that fails. If resolving the path takes longer than
// wayTime, hung records the path, and it is not tried again until that attempt has ended:
// each attempt would block a thread.
func openWay(path string) *Netns {
	if hung.has(path) {
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
			hung.end(path)
			if n != nil {
				n.Close()
			}
		}
	}()
	select {
	case n := <-opened:
		return n
	case <-time.After(wayTime):
		hung.begin(path)
		close(late)
		return nil
	}
}

// hung are the paths that have been resolving for longer than wayTime.
var hung hungWays

type hungWays struct {
	mu sync.Mutex
	// under counts who follows a path: several may have begun at the same time.
	under map[string]int
}

func (h *hungWays) has(path string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.under[path] > 0
}

func (h *hungWays) begin(path string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.under == nil {
		h.under = map[string]int{}
	}
	h.under[path]++
}

func (h *hungWays) end(path string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.under[path]--; h.under[path] == 0 {
		delete(h.under, path)
	}
}
