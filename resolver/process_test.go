package resolver_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/resolver"
	"github.com/heddle-network/heddle/resolver/process"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
)

// ensure sees to it that heddled answers in the scene, as the agent does.
func (s *scene) ensure(t testing.TB, version string) (process.Running, bool) {
	t.Helper()
	r, started, err := process.Ensure(context.Background(), cell.Build(t, "heddled"), s.dir, version)
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(s.dir, "resolver.log"))
		t.Fatalf("%v\n%s", err, log)
	}
	t.Cleanup(func() {
		syscall.Kill(r.PID, syscall.SIGKILL)
		wait(t, r) // it writes into a folder that is removed
	})
	return r, started
}

// wait waits for the end of a process that Ensure has started.
func wait(t testing.TB, r process.Running) {
	t.Helper()
	poll.For(t, patience, 5*time.Millisecond, "the process ends", func() bool { return syscall.Kill(r.PID, 0) != nil })
}

// TestKilled: a resolver that is killed is started again, one that runs is left alone.
func TestKilled(t *testing.T) {
	s := newScene(t)
	first, started := s.ensure(t, heddle.Version)
	if !started || first.Version != heddle.Version {
		t.Errorf("started: %v, %+v", started, first)
	}
	s.serves(t, app4, app6, back4)
	says(t, s.c1, app4, "web A", "10.1.0.2")
	if again, started := s.ensure(t, heddle.Version); started || again != first {
		t.Errorf("started: %v, %+v, was %+v", started, again, first)
	}
	cell.Must(t, syscall.Kill(first.PID, syscall.SIGKILL))
	wait(t, first)
	if found, err := process.Find(s.dir); found != nil || err != nil {
		t.Errorf("after its end there is %+v, %v", found, err)
	}
	second, started := s.ensure(t, heddle.Version)
	if !started || second.PID == first.PID {
		t.Errorf("started: %v, %+v", started, second)
	}
	s.says(t, "the second one answers", func(st process.Status) bool { return st.PID == second.PID && len(st.Serves) == 3 })
	says(t, s.c1, app4, "web A", "10.1.0.2")

	cell.Must(t, syscall.Kill(second.PID, syscall.SIGTERM))
	wait(t, second)
	if st, err := process.ReadStatus(s.dir); st != nil || err != nil {
		t.Errorf("after its end it says %+v, %v", st, err)
	}
	log, err := os.ReadFile(filepath.Join(s.dir, "resolver.log"))
	if err != nil || strings.Count(string(log), "ready") != 2 || strings.Contains(string(log), "heddled:") {
		t.Errorf("the log is %s, %v", log, err)
	}
}

// TestRights: it has no rights but to open ports below 1024, and a session of its own.
func TestRights(t *testing.T) {
	s := newScene(t)
	r, _ := s.ensure(t, heddle.Version)
	s.serves(t, app4, app6, back4)
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", r.PID))
	cell.Must(t, err)
	for _, task := range tasks {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/status", r.PID, task.Name()))
		cell.Must(t, err)
		for key, want := range map[string]string{"CapEff": "0000000000000400", "CapPrm": "0000000000000400", "CapInh": "0000000000000000",
			"CapAmb": "0000000000000000", "NoNewPrivs": "1"} {
			if !strings.Contains(string(text), fmt.Sprintf("\n%s:\t%s\n", key, want)) {
				t.Errorf("thread %s has not %s %s:\n%s", task.Name(), key, want, text)
			}
		}
	}
	if out := cell.Sh(t, "ps -o sid= -p %d", r.PID); strings.TrimSpace(out) != fmt.Sprint(r.PID) {
		t.Errorf("its session is %s", out)
	}
	if in, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", r.PID)); in != os.DevNull {
		t.Errorf("its input is %s, %v", in, err)
	}
}

// TestTwo: one resolver answers for a folder.
func TestTwo(t *testing.T) {
	s := newScene(t)
	r, _ := s.ensure(t, heddle.Version)
	err := resolver.Run(context.Background(), resolver.Options{Dir: s.dir})
	if !errors.Is(err, heddle.ResolverRuns.Sentinel()) || heddle.KindOf(err) != heddle.Conflict {
		t.Errorf("a second one: %v", err)
	}
	if found, err := process.Find(s.dir); err != nil || found == nil || *found != r {
		t.Errorf("afterwards %+v runs, %v", found, err)
	}
}

// TestAtOnce: of many who start one, one does.
func TestAtOnce(t *testing.T) {
	s := newScene(t)
	cell.Build(t, "heddled")
	var mu sync.Mutex
	all := map[process.Running]int{}
	starts := 0
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			r, started := s.ensure(t, heddle.Version)
			mu.Lock()
			defer mu.Unlock()
			all[r]++
			if started {
				starts++
			}
		})
	}
	running.Wait()
	if len(all) != 1 || starts != 1 {
		t.Errorf("%d were started; there are %v", starts, all)
	}
	s.serves(t, app4, app6, back4)
}

// TestOtherVersion: one of another version is replaced, also if it does not end by itself.
func TestOtherVersion(t *testing.T) {
	s := newScene(t)
	for _, stopped := range []bool{false, true} {
		t.Setenv(versionEnv, "0.0.1")
		old, started, err := process.Ensure(context.Background(), "/proc/self/exe", s.dir, "0.0.1")
		cell.Must(t, err)
		if !started || old.Version != "0.0.1" {
			t.Errorf("started: %v, %+v", started, old)
		}
		s.says(t, "the old one answers", func(st process.Status) bool { return st.Version == "0.0.1" && len(st.Serves) == 3 })
		if stopped {
			cell.Must(t, syscall.Kill(old.PID, syscall.SIGSTOP))
		}
		now, started := s.ensure(t, heddle.Version)
		if !started || now.Version != heddle.Version {
			t.Errorf("started: %v, %+v", started, now)
		}
		wait(t, old)
		s.says(t, "the new one answers", func(st process.Status) bool { return st.Version == heddle.Version && len(st.Serves) == 3 })
		says(t, s.c1, app4, "web A", "10.1.0.2")
	}
}

// TestNoStart: what cannot be started is told, with the reason.
func TestNoStart(t *testing.T) {
	cell.Need(t)
	_, _, err := process.Ensure(context.Background(), "/bin/false", t.TempDir(), "1")
	if !errors.Is(err, heddle.ResolverDown.Sentinel()) || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("a program that ends: %v", err)
	}
	if _, _, err = process.Ensure(context.Background(), "/nowhere", t.TempDir(), "1"); !errors.Is(err, heddle.ResolverDown.Sentinel()) {
		t.Errorf("no program: %v", err)
	}
	if _, _, err = process.Ensure(context.Background(), "/bin/false", "/nowhere", "1"); heddle.KindOf(err) != heddle.Failed {
		t.Errorf("no folder: %v", err)
	}
}

// TestStaleLock: the file of a resolver that was killed may name a program that is none.
func TestStaleLock(t *testing.T) {
	s := newScene(t)
	cell.Must(t, os.WriteFile(filepath.Join(s.dir, "lock"), fmt.Appendf(nil, "%d 0.0.1\n", os.Getpid()), 0o600))
	if r, started := s.ensure(t, heddle.Version); !started || r.PID == os.Getpid() {
		t.Errorf("started: %v, %+v", started, r)
	}
}
