package agent

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// inParallel calls do for each number below n, on all processors, and returns when all calls have.
func inParallel(n int, do func(i int)) { atOnce(runtime.GOMAXPROCS(0), n, do) }

// atOnce calls do for each number below n, at most so many at once, and returns when all calls have.
func atOnce(most, n int, do func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, most) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	all.Wait()
}
