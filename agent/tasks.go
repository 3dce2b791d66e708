package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

const (
	// lateAfter is how long work may take before the status reports it as late.
	lateAfter = 2 * time.Second
	// stuckAfter is how long work may take before the status reports it as broken.
	stuckAfter = 10 * time.Second
)

// work is an operation, with its network (the name, or the ID if this host does not know the name)
// or its endpoint.
type work struct{ what, network, endpoint string }

// tasks are the operations under way, so that the status can report what takes long.
type tasks struct {
	mu  mutex[atTasks]
	all map[*task]bool
	// ended is closed when a task ends, and then replaced.
	ended chan struct{}
}

// task is an operation under way, and what it waits for. A nil task is allowed and is not
// reported.
type task struct {
	of         *tasks
	work       work
	since      time.Time
	waitingFor string // tasks.mu guards it
}

func newTasks() *tasks { return &tasks{all: map[*task]bool{}, ended: make(chan struct{})} }

// begin adds a task. The caller calls end at the end.
func (ts *tasks) begin(w work, waits string) *task {
	t := &task{of: ts, work: w, since: time.Now(), waitingFor: waits}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.all[t] = true
	return t
}

// waitFor notes what a task waits for from now on.
func (t *task) waitFor(what string) {
	if t == nil {
		return
	}
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.waitingFor = what
}

func (t *task) end() {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	delete(t.of.all, t)
	close(t.of.ended)
	t.of.ended = make(chan struct{})
}

// olderThan lists the tasks that began at least that long ago, the oldest first.
func (ts *tasks) olderThan(age time.Duration, is func(work) bool) []heddle.Late {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	var all []heddle.Late
	for t := range ts.all {
		if took := time.Since(t.since); took >= age && (is == nil || is(t.work)) {
			all = append(all, heddle.Late{What: t.work.what, Network: t.work.network, Endpoint: t.work.endpoint,
				Since: t.since.UTC(), Seconds: took.Round(time.Millisecond).Seconds(), Waits: t.waitingFor})
		}
	}
	slices.SortFunc(all, func(a, b heddle.Late) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.Network, b.Network),
			strings.Compare(a.Endpoint, b.Endpoint))
	})
	return all
}

// await waits until no task of a kind is under way, or the time limit is reached. It returns the
// tasks that are left.
func (ts *tasks) await(limit time.Duration, is func(work) bool) []heddle.Late {
	over := time.After(limit)
	for {
		ts.mu.Lock()
		ended := ts.ended
		ts.mu.Unlock()
		left := ts.olderThan(0, is)
		if len(left) == 0 {
			return nil
		}
		select {
		case <-ended:
		case <-over:
			return left
		}
	}
}

// workPart reports the tasks that take too long.
func workPart(late []heddle.Late) heddle.PartStatus {
	part := heddle.PartStatus{Name: heddle.PartWork, State: "ok", Detail: "nothing is late"}
	if len(late) == 0 {
		return part
	}
	var texts []string
	for _, l := range late {
		texts = append(texts, l.String())
	}
	part.State, part.Detail = "warn", fmt.Sprintf("%d late: %s", len(late), firstFew(texts, "; "))
	if time.Since(late[0].Since) > stuckAfter {
		part.State = "bad"
	}
	return part
}
