package allocation_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// history is who took and gave which address, and when.
type history struct {
	mu       sync.Mutex
	began    time.Time
	steps    []porcupine.Operation
	holder   map[string]string // address -> endpoint, now
	breaches []string
	takes    int
}

func newHistory() *history { return &history{began: time.Now(), holder: map[string]string{}} }

// step is one use of an address.
type step struct {
	addr string
	by   string
	take bool
}

func (h *history) now() int64 { return int64(time.Since(h.began)) }

// record notes a step that happened between began and now. An address that is
// taken while another endpoint has it is a breach at once.
func (h *history) record(client int, began int64, s step) {
	h.mu.Lock()
	defer h.mu.Unlock()
	other := h.holder[s.addr]
	switch {
	case s.take && other != "" && other != s.by:
		h.breaches = append(h.breaches, fmt.Sprintf("%s takes %s, which %s has", s.by, s.addr, other))
	case s.take:
		h.holder[s.addr] = s.by
	case other == s.by:
		delete(h.holder, s.addr)
	}
	if s.take {
		h.takes++
	}
	h.steps = append(h.steps, porcupine.Operation{ClientId: client, Input: s, Call: began, Return: h.now()})
}

func (h *history) count() (takes int, breaches []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.takes, append([]string(nil), h.breaches...)
}

// lock is the model: an address is a lock that at most one endpoint holds.
var lock = porcupine.Model{
	Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
		by := map[string][]porcupine.Operation{}
		for _, o := range all {
			addr := o.Input.(step).addr
			by[addr] = append(by[addr], o)
		}
		var parts [][]porcupine.Operation
		for _, part := range by {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return "" },
	Step: func(state, input, _ any) (bool, any) {
		holder, s := state.(string), input.(step)
		if s.take {
			return holder == "", s.by
		}
		return holder == s.by, ""
	},
}

// accepted says whether the history can have happened if no address ever had two
// holders.
func (h *history) accepted(t *testing.T) bool {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch porcupine.CheckOperationsTimeout(lock, h.steps, 5*time.Minute) {
	case porcupine.Ok:
		return true
	case porcupine.Illegal:
		return false
	}
	t.Fatalf("the history of %d steps could not be checked in time", len(h.steps))
	return false
}
