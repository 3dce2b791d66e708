package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/event"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/test/poll"
)

// serve shows a run of this process, until the test ends.
func serve(t *testing.T, do func(event.Command) (event.Done, error)) {
	t.Helper()
	s, err := Serve(Run{Crowd: "some", Servers: []string{"mail"}}, do, func() { t.Error("the run is ended") })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
}

// found looks for this process's run. A run that is busy may be left out.
func found(t *testing.T) {
	t.Helper()
	poll.For(t, time.Minute, 10*time.Millisecond, "the run is found", func() bool {
		all, err := Find()
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(all, func(r Run) bool { return r.PID == os.Getpid() && r.Crowd == "some" && len(r.Servers) == 1 })
	})
}

// TestOddNames: whatever others call their sockets, the run is found.
func TestOddNames(t *testing.T) {
	serve(t, nil)
	for _, odd := range []string{"@\n\n", "@x\n" + prefix + "1", prefix + "x", prefix + "-1", prefix} {
		l, err := net.Listen("unix", fmt.Sprintf("%s\n%d", odd, os.Getpid()))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	found(t)
}

// TestTell: a command goes to the run, what goes on comes back, and so does why it fails.
func TestTell(t *testing.T) {
	fault := scenario.Event{Service: "mail", Fault: scenario.Down, For: time.Minute}
	serve(t, func(c event.Command) (event.Done, error) {
		switch {
		case c.Clear:
			return event.Done{}, heddle.Errorf(heddle.CrowdFailed, "tell crowd", "", "it does not want to", "try again")
		case c.Begin == nil || *c.Begin != fault:
			return event.Done{}, fmt.Errorf("it is told %+v", c)
		}
		return event.Done{Events: []diary.Event{{Event: *c.Begin, ByHand: true, Began: 1}}}, nil
	})
	found(t)
	done, err := Tell(t.Context(), os.Getpid(), event.Command{Begin: &fault})
	if on := done.Events; err != nil || len(on) != 1 || on[0].Event != fault || !on[0].ByHand {
		t.Errorf("%v: %+v", err, on)
	}
	if _, err := Tell(t.Context(), os.Getpid(), event.Command{Clear: true}); !errors.Is(err, heddle.CrowdFailed.Sentinel()) || !strings.Contains(err.Error(), "does not want to; try again") {
		t.Error(err)
	}
	if _, err := Tell(t.Context(), os.Getpid(), event.Command{Begin: &scenario.Event{}}); !errors.Is(err, heddle.CrowdFailed.Sentinel()) || !strings.Contains(err.Error(), "it is told") {
		t.Error(err)
	}
	if _, err := Tell(t.Context(), 1<<22+1, event.Command{Clear: true}); !errors.Is(err, heddle.CrowdFailed.Sentinel()) {
		t.Errorf("a process that is not there: %v", err)
	}
}

// TestLong: who is being told what takes long still shows itself, and refuses only what is too much. Who waits may stop waiting.
func TestLong(t *testing.T) {
	begun, done := make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() { close(begun) })
	serve(t, func(c event.Command) (event.Done, error) {
		first()
		<-done
		return event.Done{Scale: &diary.Scale{From: 1, To: c.Scale}}, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() {
		_, err := Tell(ctx, os.Getpid(), event.Command{Scale: 2})
		stopped <- err
	}()
	<-begun // it is not among those who are refused
	var told, refused atomic.Int64
	var telling sync.WaitGroup
	for range maxTold + 20 {
		telling.Go(func() {
			switch d, err := Tell(t.Context(), os.Getpid(), event.Command{Scale: 3}); {
			case err == nil && d.Scale.To == 3:
				told.Add(1)
			case err != nil && strings.Contains(err.Error(), "already, one after the other"):
				refused.Add(1)
			default:
				t.Errorf("%v, %+v", err, d)
			}
		})
	}
	poll.For(t, time.Minute, time.Millisecond, "what is too much is refused", func() bool { return refused.Load() > 0 })
	found(t)
	cancel()
	if err := <-stopped; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(done)
	telling.Wait()
	if told.Load() < maxTold-1 {
		t.Errorf("%d are done, %d refused", told.Load(), refused.Load())
	}
}

// TestEnd: who ends a run waits until it has ended, several as well as one, or stops waiting.
func TestEnd(t *testing.T) {
	ended := make(chan struct{}, 3)
	s, err := Serve(Run{Crowd: "some"}, nil, func() { ended <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan error, 3)
	for _, ctx := range []context.Context{ctx, t.Context(), t.Context()} {
		go func() { waiting <- End(ctx, os.Getpid()) }()
	}
	for range 3 {
		<-ended
	}
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("who stops waiting: %v", err)
	}
	select {
	case err := <-waiting:
		t.Errorf("the run goes on, and %v", err)
	default:
	}
	s.Close()
	for range 2 {
		if err := <-waiting; err != nil {
			t.Error(err)
		}
	}
	if err := End(t.Context(), os.Getpid()); !errors.Is(err, heddle.CrowdFailed.Sentinel()) {
		t.Errorf("a run that has ended: %v", err)
	}
}

// TestEndOfKilled: a run that is killed while somebody ends it has not removed what it made, so that is an error.
func TestEndOfKilled(t *testing.T) {
	l, err := net.Listen("unix", name(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if _, err := readRequest(c); err != nil {
			t.Error(err)
		}
		c.Close() // as the kernel does when the process ends
	}()
	if err := End(t.Context(), os.Getpid()); !errors.Is(err, heddle.CrowdFailed.Sentinel()) || !strings.Contains(err.Error(), "without a reply") {
		t.Error(err)
	}
}

// TestBadRequests: what is no request is refused, tells the run nothing, and harms nobody else.
func TestBadRequests(t *testing.T) {
	serve(t, func(c event.Command) (event.Done, error) {
		t.Errorf("the run is told %+v", c)
		return event.Done{}, nil
	})
	for text, want := range map[string]string{
		"\n":                                   "EOF",
		"":                                     "unexpected EOF",
		`{"show":true}`:                        "unexpected EOF", // no end of the line
		"hello\n":                              "invalid character",
		"{}\n":                                 "asks nothing",
		`{"show":true,"command":{}}` + "\n":    "two things",
		`{"show":true,"end":true}` + "\n":      "two things",
		`{"scale":3}` + "\n":                   `unknown field \"scale\"`,
		`{"command":{"users":3}}` + "\n":       `unknown field \"users\"`,
		`{"command":{"scale":"many"}}` + "\n":  "cannot unmarshal",
		`{"command":{"begin":[]}}` + "\n":      "cannot unmarshal",
		strings.Repeat("[", mostRequest):       "longer than 65535 bytes",
		strings.Repeat("[", 20_000) + "\n":     "exceeded max depth",
		strings.Repeat(" ", 10*mostRequest):    "",
		"\x00\xff" + strings.Repeat("\x00", 9): "unexpected EOF",
	} {
		c, err := net.Dial("unix", name(os.Getpid()))
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(time.Minute))
		c.Write([]byte(text))
		c.(*net.UnixConn).CloseWrite()
		got, _ := io.ReadAll(c)
		c.Close()
		if !strings.Contains(string(got), want) || want != "" && !strings.Contains(string(got), string(heddle.BadJSON)) {
			t.Errorf("%.40q: %s", text, got)
		}
	}
	found(t)
}

// TestManyConnections: those that say nothing are sent away after a while, and others have their turn.
func TestManyConnections(t *testing.T) {
	serve(t, nil)
	var all []net.Conn
	var dialling sync.WaitGroup
	var mu sync.Mutex
	for range 10 * atOnce {
		dialling.Go(func() { // the kernel has room for some that wait
			if c, err := net.DialTimeout("unix", name(os.Getpid()), patience); err == nil {
				mu.Lock()
				all = append(all, c)
				mu.Unlock()
			}
		})
	}
	dialling.Wait()
	if len(all) < 2*atOnce {
		t.Fatalf("%d connections", len(all))
	}
	all[0].SetDeadline(time.Now().Add(time.Minute))
	if got, err := io.ReadAll(all[0]); err != nil || !strings.Contains(string(got), string(heddle.BadJSON)) {
		t.Errorf("who says nothing: %s, %v", got, err)
	}
	for _, c := range all {
		c.Close()
	}
	found(t)
}

// asStranger has this test's program call a run as another user.
const asStranger = "HEDDLE_TEST_CALL_RUN"

// TestStranger: another user sees nothing of a run, and tells it nothing.
func TestStranger(t *testing.T) {
	if pid := os.Getenv(asStranger); pid != "" {
		c, err := net.Dial("unix", prefix+pid)
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(time.Minute))
		c.Write([]byte(`{"command":{"clear":true}}` + "\n"))
		got, err := io.ReadAll(c)
		if all, _ := Find(); len(got) > 0 || errors.Is(err, os.ErrDeadlineExceeded) || len(all) > 0 {
			t.Errorf("a stranger hears %q, %v, and sees %d runs", got, err, len(all))
		}
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be another user")
	}
	told := false
	serve(t, func(event.Command) (event.Done, error) { told = true; return event.Done{}, nil })
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.CreateTemp("/dev/shm", "heddle-test-") // where others may run it
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(program.Name())
	program.Write(self)
	program.Chmod(0o755)
	program.Close()
	cmd := exec.Command(program.Name(), "-test.run", "^TestStranger$")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", asStranger, os.Getpid()))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil || told {
		t.Errorf("%v, told %v: %s", err, told, out)
	}
}
