package script

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/test/poll"
)

// author is one that is closed when the test ends.
func author(t *testing.T) *Author {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making namespaces needs root")
	}
	a := NewAuthor(t.Context())
	t.Cleanup(a.Close)
	return a
}

// shell is a behaviour whose script is for sh.
func shell(lines string) scenario.Behaviour { return scenario.Behaviour{Script: "#!/bin/sh\n" + lines} }

// answer asks a script one question.
func answer(t *testing.T, lines string) (string, error) {
	t.Helper()
	got, err := author(t).Ask(t.Context(), "play", shell(lines), []byte("{}"))
	return string(got), err
}

// TestAsk: scripts answer many who ask at once, each its own question, from one process.
func TestAsk(t *testing.T) {
	a, b := author(t), shell(`n=0; while read q; do n=$((n+1)); echo "$q $$ $n"; done`)
	var all sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]bool{}
	for i := range 50 {
		all.Go(func() {
			got, err := a.Ask(t.Context(), "play", b, fmt.Appendf(nil, "%d", i))
			var q, pid, n int
			if _, bad := fmt.Sscan(string(got), &q, &pid, &n); err != nil || bad != nil || q != i || pid != 1 || n < 1 || n > 50 {
				t.Errorf("%q, %v", got, err)
			}
			mu.Lock()
			defer mu.Unlock()
			seen[fmt.Sprint(n)] = true
		})
	}
	all.Wait()
	if len(seen) != 50 {
		t.Errorf("%d of 50 were counted", len(seen))
	}
	other, err := a.Ask(t.Context(), "rest", b, []byte("0"))
	if err != nil || string(other) != "0 1 1" {
		t.Errorf("another behaviour's script answers %q, %v", other, err)
	}
}

// TestInterpreter: an interpreter may be one of /etc/alternatives, and have an argument.
func TestInterpreter(t *testing.T) {
	if _, err := os.Stat("/usr/bin/awk"); err != nil {
		t.Fatal(err)
	}
	b := scenario.Behaviour{Script: "#!/usr/bin/awk\t-f\nBEGIN { print \"awk is here\"; fflush(); system(\"sleep 1000\") }\n"} // mawk reads whole blocks
	if got, err := author(t).Ask(t.Context(), "play", b, []byte("{}")); err != nil || string(got) != "awk is here" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestLimits: where this process may have less, a script has that.
func TestLimits(t *testing.T) {
	if got := limit("nproc", unix.RLIMIT_NPROC, 1); got != "--nproc=1" {
		t.Error(got)
	}
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &now); err != nil {
		t.Fatal(err)
	}
	if got := limit("nofile", unix.RLIMIT_NOFILE, now.Max+1); now.Max != unix.RLIM_INFINITY && got != fmt.Sprintf("--nofile=%d", now.Max) {
		t.Error(got)
	}
}

// TestFailures: it is told why a script does not answer, in its own words, and it is not asked again.
func TestFailures(t *testing.T) {
	for lines, want := range map[string]string{
		"echo oh dear >&2; exit 3":                                         "it has ended: exit status 3: oh dear",
		"read q; exec >&-; echo no more >&2; sleep 1000":                   "it has closed its input or output; it said: no more",
		"read q; exec <&-; echo a; sleep 1000":                             "",
		"read q; printf 'a\\nb\\n'; sleep 1000":                            "",
		"while read q; do head -c 300000 /dev/zero | tr '\\0' x; done":     "longer than 262144 bytes",
		"while read q; do echo thinking >&2; sleep 1000; done":             "it does not answer within 300ms; it said: thinking",
		"while read q; do printf 'half a line'; sleep 1000; done":          "it does not answer within 300ms",
		"sleep 1000 & while read q; do sleep 1000; done":                   "it does not answer within 300ms",
		"trap '' TERM INT; while read q; do sleep 1000 & sleep 1000; done": "it does not answer within 300ms",
	} {
		a := author(t)
		if strings.Contains(want, "300ms") {
			a.patience = 300 * time.Millisecond
		}
		got, err := a.Ask(t.Context(), "play", shell(lines), []byte("{}"))
		if want == "" { // the first answer is good, the next one cannot be
			if err != nil || string(got) != "a" {
				t.Errorf("%s: %q, %v", lines, got, err)
			}
			if _, err = a.Ask(t.Context(), "play", shell(lines), []byte("{}")); err == nil {
				t.Errorf("%s: it answers", lines)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "ask the script of behaviour play: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", lines, got, err)
		}
		if _, again := a.Ask(t.Context(), "play", shell(lines), []byte("{}")); again == nil || again.Error() != err.Error() {
			t.Errorf("%s: asked again: %v", lines, again)
		}
		a.Close()
	}
	for first, want := range map[string]string{"#!/no/such": "find the interpreter: lstat /no: no such file", "#!/tmp": "no container sees the interpreter /tmp"} {
		if _, err := author(t).Ask(t.Context(), "play", scenario.Behaviour{Script: first}, []byte("{}")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", first, err)
		}
	}
}

// TestHostile: a script is nobody, sees neither the host's files nor a network, and cannot take all of its memory and processes. What it
// has started ends with it.
func TestHostile(t *testing.T) {
	mark := fmt.Sprintf("%d", 100000+os.Getpid())
	for lines, want := range map[string]string{
		"read q; echo $(id -u) $(id -G)":                                       "65534 65534",
		"read q; echo $(cat /etc/passwd 2>&1)":                                 "No such file",
		"read q; echo $(echo x 2>&1 >/usr/bin/x; echo x 2>&1 >/behaviour)":     "Read-only file system",
		"read q; echo $(ls / | tr '\\n' ' ')":                                  "behaviour bin dev etc",
		"read q; echo $(ls /proc/1 /home /root /sys 2>&1 | grep -c 'No such')": "4",
		"read q; echo $(ip -br addr | tr -d '\\n')":                            "lo",
		"read q; echo $(ip route get 192.0.2.1 2>&1)":                          "unreachable",
		"read q; echo $(mount -t tmpfs x /etc 2>&1)":                           "must be superuser",
		"read q; echo $(unshare -Ur id -u 2>&1)":                               "Operation not permitted",
		"read q; echo $(unshare -n true 2>&1)":                                 "Operation not permitted",
		"read q; ulimit -d":                                                    "1048576",
	} {
		got, err := answer(t, lines)
		if err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %q, %v; expected %s", lines, got, err, want)
		}
	}
	a := author(t)
	if got, err := a.Ask(t.Context(), "play", shell("sleep "+mark+" & read q; (setsid sleep "+mark+" &); echo started; read q"), []byte("{}")); err != nil || string(got) != "started" {
		t.Fatalf("%q, %v", got, err)
	}
	if _, err := poll.Until(5*time.Second, time.Millisecond, func() error {
		if n := sleepers(t, mark); n != 2 {
			return fmt.Errorf("%d processes sleep", n)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	a.Close()
	if n := sleepers(t, mark); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

// sleepers counts the processes that sleep for so long.
func sleepers(t *testing.T, seconds string) (n int) {
	t.Helper()
	all, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		words, _ := os.ReadFile("/proc/" + one.Name() + "/cmdline") // it may have ended
		if string(words) == "sleep\x00"+seconds+"\x00" {
			n++
		}
	}
	return n
}

// TestEnd: the context's end, or Close, ends who waits for an answer, and nobody is asked any more.
func TestEnd(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("making namespaces needs root")
	}
	for name, end := range map[string]func(*Author, func()){"context": func(_ *Author, cancel func()) { cancel() }, "close": func(a *Author, _ func()) { a.Close() }} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		a := NewAuthor(ctx)
		told := make(chan error, 1)
		go func() {
			_, err := a.Ask(t.Context(), "play", shell("read q; touch x; sleep 1000"), []byte("{}"))
			told <- err
		}()
		if _, err := poll.Until(5*time.Second, time.Millisecond, func() error {
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.asked["play"] == nil {
				return fmt.Errorf("it is not asked")
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		end(a, cancel)
		select {
		case err := <-told:
			if err == nil || !strings.Contains(err.Error(), errClosed.Error()) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(5 * time.Second):
			t.Fatalf("%s: the script is waited for", name)
		}
		a.Close()
		if _, err := a.Ask(t.Context(), "other", shell("cat"), []byte("{}")); heddle.CrowdFailed.In(err) == nil || !strings.Contains(err.Error(), errClosed.Error()) {
			t.Errorf("%s: afterwards: %v", name, err)
		}
	}
}
