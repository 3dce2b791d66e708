package agent

import (
	"context"
	"sync"
	"time"
)

// errands are jobs that run concurrently, in the background of whoever asks for them. Each
// has a key; only one job of a key runs at a time. If a job is asked for again while it is
// under way, it runs once more afterwards, however many requests came, so that the last
// run sees the newest state.
type errands struct {
	tasks *tasks
	// room bounds how many are under way at a time.
	room chan struct{}
	// all counts the goroutines.
	all *sync.WaitGroup

	mu     mutex[atErrands]
	under  map[string]*errand
	closed bool
}

type errand struct {
	do    func(*task)
	again bool
	over  chan struct{}
}

// errandsAtOnce bounds how many processors of the host the jobs occupy: a network needs a
// process of nft(8), and the kernel serializes its work for them anyway.
const errandsAtOnce = 8

func newErrands(t *tasks, all *sync.WaitGroup) *errands {
	return &errands{tasks: t, all: all, room: make(chan struct{}, errandsAtOnce), under: map[string]*errand{}}
}

// start runs the job soon. The returned channel is closed when the job is done and nobody
// has asked for it again.
func (e *errands) start(key string, what work, do func(*task)) <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if one := e.under[key]; one != nil {
		one.do, one.again = do, true
		return one.over
	}
	one := &errand{do: do, over: make(chan struct{})}
	if e.closed {
		close(one.over)
		return one.over
	}
	e.under[key] = one
	t := e.tasks.begin(what, "its turn")
	e.all.Go(func() { e.run(key, one, t, what) })
	return one.over
}

func (e *errands) run(key string, one *errand, t *task, what work) {
	for {
		e.room <- struct{}{}
		e.mu.Lock()
		do := one.do
		one.again = false
		skip := e.closed
		e.mu.Unlock()
		if !skip {
			do(t)
		}
		<-e.room
		t.end()
		e.mu.Lock()
		if !one.again || e.closed {
			delete(e.under, key)
			close(one.over)
			e.mu.Unlock()
			return
		}
		t = e.tasks.begin(what, "its turn")
		e.mu.Unlock()
	}
}

// close prevents new jobs from starting.
func (e *errands) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
}

// awaitAll waits until all jobs are over, or the time limit is reached.
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
