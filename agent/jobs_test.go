package agent

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestJobs: only one job with a key runs at a time. Jobs that are started meanwhile run once
// afterwards, as the last caller wants. Jobs with other keys do not wait.
func TestJobs(t *testing.T) {
	ts, all := newTasks(), sync.WaitGroup{}
	e := newJobs(ts, &all)
	release, begun := make(chan struct{}), make(chan struct{})
	var said []string // by the jobs with the key "slow", one after the other
	say := func(word string) func(*task) { return func(*task) { said = append(said, word) } }
	slow := e.start("slow", work{what: "first"}, func(*task) { close(begun); <-release; said = append(said, "first") })
	<-begun
	for i := range 100 {
		e.start("slow", work{what: "again"}, say(fmt.Sprint(i)))
	}
	var others atomic.Int32
	for i := range 50 {
		<-e.start(fmt.Sprint("other", i), work{}, func(*task) { others.Add(1) })
	}
	if others.Load() != 50 || len(said) != 0 {
		t.Errorf("%d others were done, said %v", others.Load(), said)
	}
	if late := ts.olderThan(0, nil); len(late) != 1 || late[0].What != "first" {
		t.Errorf("under way: %+v", late)
	}
	close(release)
	<-slow
	if fmt.Sprint(said) != "[first 99]" {
		t.Errorf("said %v", said)
	}
	if left := ts.await(time.Minute, nil); left != nil {
		t.Errorf("still under way: %+v", left)
	}
	e.close()
	<-e.start("late", work{}, func(*task) { t.Error("done after the end") })
	all.Wait()
}

// TestLate: the status reports a task that takes long, and what it waits for.
func TestLate(t *testing.T) {
	ts := newTasks()
	old := ts.begin(work{what: "make", network: "web"}, "its turn")
	old.waitFor("the kernel")
	old.since = time.Now().Add(-7 * time.Second)
	ts.begin(work{what: "attach", endpoint: "c/eth0", network: "web"}, "the store")
	late := ts.olderThan(lateAfter, nil)
	if len(late) != 1 || late[0].String() != "network web: make, waiting for the kernel for 7 s" {
		t.Errorf("late: %v", late)
	}
	if part := workPart(late); part.State != "warn" {
		t.Errorf("the part: %+v", part)
	}
	old.since = time.Now().Add(-stuckAfter)
	if part := workPart(ts.olderThan(lateAfter, nil)); part.State != "bad" {
		t.Errorf("the part of what does not end: %+v", part)
	}
	if part := workPart(nil); part.State != "ok" {
		t.Errorf("the part of nothing: %+v", part)
	}
	if left := ts.await(time.Millisecond, func(w work) bool { return w.endpoint == "" }); len(left) != 1 {
		t.Errorf("waited for %v", left)
	}
}

// TestTryLock: TryLock does not wait, and the lock is free again afterwards.
func TestTryLock(t *testing.T) {
	var k KeyedLocks[string]
	unlock := k.Lock("a")
	if k.TryLock("a") != nil {
		t.Error("a lock that is taken was had")
	}
	if u := k.TryLock("b"); u == nil {
		t.Error("a free lock was not had")
	} else {
		u()
	}
	unlock()
	k.TryLock("a")()
	done, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	go func() { k.Lock("a")(); cancel() }()
	<-done.Done()
	if len(k.locks) > 0 || done.Err() == context.DeadlineExceeded {
		t.Errorf("left: %v, %v", k.locks, done.Err())
	}
}
