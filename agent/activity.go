package agent

import (
	"sync/atomic"
	"time"
)

// activity tells whether an operation of our own changes the kernel, or has just done so.
type activity struct {
	// working counts the operations under way. worked is when the last one ended (Unix
	// nanoseconds).
	working, worked atomic.Int64
}

// busy reports whether an operation of our own is under way or has just ended.
func (y *activity) busy() bool {
	return y.working.Load() > 0 || time.Since(time.Unix(0, y.worked.Load())) < echoTime
}

// begin marks the start of an operation that changes the kernel. The caller calls the returned
// function at the end.
func (y *activity) begin() func() {
	y.working.Add(1)
	return func() {
		y.worked.Store(time.Now().UnixNano())
		y.working.Add(-1)
	}
}
