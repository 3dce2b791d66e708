package agent

import (
	"context"
	"sync"
	"time"
)

// jobs run concurrently in the background. Each job has a key, and only one job with a key runs at
// a time. If it is started again while it runs, it runs once more afterwards, however often it was
// started, so that the last run sees the newest state.
type jobs struct {
	tasks *tasks
	// slots limits how many jobs run at a time.
	slots chan struct{}
	// goroutines waits for the jobs' goroutines.
	goroutines *sync.WaitGroup

	mu      mutex[atJobs]
	running map[string]*job
	closed  bool
}

type job struct {
	do     func(*task)
	repeat bool
	done   chan struct{}
}

// jobsAtOnce limits how many processors of the host the jobs use. A network needs a process of
// nft(8), and the kernel serializes its work for them anyway.
const jobsAtOnce = 8

func newJobs(t *tasks, all *sync.WaitGroup) *jobs {
	return &jobs{tasks: t, goroutines: all, slots: make(chan struct{}, jobsAtOnce), running: map[string]*job{}}
}

// start runs the job soon. The returned channel is closed when the job is done and nobody has
// started it again.
func (e *jobs) start(key string, what work, do func(*task)) <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if one := e.running[key]; one != nil {
		one.do, one.repeat = do, true
		return one.done
	}
	one := &job{do: do, done: make(chan struct{})}
	if e.closed {
		close(one.done)
		return one.done
	}
	e.running[key] = one
	t := e.tasks.begin(what, "its turn")
	e.goroutines.Go(func() { e.run(key, one, t, what) })
	return one.done
}

func (e *jobs) run(key string, one *job, t *task, what work) {
	for {
		e.slots <- struct{}{}
		e.mu.Lock()
		do := one.do
		one.repeat = false
		skip := e.closed
		e.mu.Unlock()
		if !skip {
			do(t)
		}
		<-e.slots
		t.end()
		e.mu.Lock()
		if !one.repeat || e.closed {
			delete(e.running, key)
			close(one.done)
			e.mu.Unlock()
			return
		}
		t = e.tasks.begin(what, "its turn")
		e.mu.Unlock()
	}
}

// close prevents new jobs from starting.
func (e *jobs) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
}

// awaitAll waits until all jobs are done, or the time limit is reached.
func awaitAll(ctx context.Context, limit time.Duration, all []<-chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, over := range all {
		select {
		case <-over:
		case <-ctx.Done():
			return
		}
	}
}
