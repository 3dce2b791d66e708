package agent

import (
	"sync/atomic"
	"time"
)

// activity says whether operations of our own change the kernel, or just did.
type activity struct {
	// working counts those under way, worked is when the last one ended (Unix nanoseconds).
	working, worked atomic.Int64
}

// busy reports whether an operation of our own has just ended or is under way.
func (y *activity) busy() bool {
	return y.working.Load() > 0 || time.Since(time.Unix(0, y.worked.Load())) < echoTime
}

// begin marks an operation that changes the kernel; call what it returns at its
// end.
func (y *activity) begin() func() {
	y.working.Add(1)
	return func() {
		y.worked.Store(time.Now().UnixNano())
		y.working.Add(-1)
	}
}
