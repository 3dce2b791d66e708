package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const (
	// probeEvery is how often a probe does what tests do all the time, stillAfter how long that may take: then the machine stands still.
	probeEvery, stillAfter = time.Second, 10 * time.Second
	// maxStill is how many standstills are kept.
	maxStill = 20
)

// standstill notes when the machine as a whole kept tests waiting, and for what: a test that failed then may have failed for that.
type standstill struct {
	mu    sync.Mutex
	found []string
}

// watch starts the probes, which go on until the context ends.
func (s *standstill) watch(ctx context.Context) {
	go s.probe(ctx, "a timer of a second", func() error { time.Sleep(time.Second); return nil })
	go s.probe(ctx, "a file to be on the disk", syncFile)
	go func() {
		runtime.LockOSThread() // the thread ends with this goroutine, and so does its namespace
		if unix.Unshare(unix.CLONE_NEWNET) == nil {
			s.probe(ctx, "a network interface to come and go", makeLink)
		}
	}()
}

// probe does something again and again, and notes what took long, with what the kernel kept waiting meanwhile.
func (s *standstill) probe(ctx context.Context, what string, do func() error) {
	for ; ctx.Err() == nil; time.Sleep(probeEvery) {
		began, waiting := time.Now(), make(chan string, 1)
		look := time.AfterFunc(stillAfter, func() { waiting <- blocked() })
		err := do()
		if !look.Stop() {
			s.note(began, time.Since(began), what, err, <-waiting)
		}
	}
}

func (s *standstill) note(began time.Time, took time.Duration, what string, err error, waiting string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.found) < maxStill {
		s.found = append(s.found, fmt.Sprintf("  %s  %.0f s for %s, which ended with %v%s\n", began.UTC().Format(time.TimeOnly), took.Seconds(), what, err, waiting))
	}
}

// print says when the machine stood still.
func (s *standstill) print(out io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.found) > 0 {
		fmt.Fprintf(out, "\nThe machine stood still; tests may have failed for that:\n%s", strings.Join(s.found, ""))
	}
}

func syncFile() error {
	f, err := os.CreateTemp("", "report")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := f.WriteString("probe"); err != nil {
		return err
	}
	return f.Sync()
}

func makeLink() error {
	l := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "probe"}}
	if err := netlink.LinkAdd(l); err != nil {
		return err
	}
	return netlink.LinkDel(l)
}

// blocked lists the threads that wait in the kernel and cannot be interrupted, and where.
func blocked() string {
	var all strings.Builder
	tasks, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*")
	for _, dir := range tasks {
		stat, err := os.ReadFile(dir + "/stat")
		if _, after, is := strings.Cut(string(stat), ") "); err != nil || !is || !strings.HasPrefix(after, "D") {
			continue
		}
		name, _ := os.ReadFile(dir + "/comm")
		stack, _ := os.ReadFile(dir + "/stack")
		fmt.Fprintf(&all, "\n    %s: %s", strings.TrimSpace(string(name)), strings.Join(strings.Fields(string(stack)), " "))
	}
	return all.String()
}
