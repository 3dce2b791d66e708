package bench

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/heddle-network/heddle/lazyregexp"
)

// spawner starts programs from one thread that lives as long as the run. The kernel kills the
// programs when that thread ends, so no waiting program is left if this process is killed. (Any
// other thread may end earlier.)
type spawner struct{ work chan func() }

func newSpawner() *spawner {
	s := &spawner{work: make(chan func())}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for f := range s.work {
			f()
		}
	}()
	return s
}

func (s *spawner) close() { close(s.work) }

// start runs argv at an endpoint, in a process group of its own.
func (s *spawner) start(ctx context.Context, at Endpoint, argv ...string) (*child, error) {
	what := fmt.Sprintf("%s (in %s)", strings.Join(argv, " "), at.Name)
	cmd, err := at.Command(ctx, argv...)
	if err != nil {
		return nil, fail("start", what, err)
	}
	c := &child{cmd: cmd, at: at, what: what, program: filepath.Base(argv[0]), out: newTranscript(), done: make(chan struct{})}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Pdeathsig = true, syscall.SIGKILL
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.out, c.out, time.Second
	if cmd.Cancel != nil {
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	}
	started := make(chan error)
	s.work <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, fail("start", what, err)
	}
	go func() {
		c.err = cmd.Wait()
		close(c.done)
	}()
	return c, nil
}

// child is a program that we started, and its process group.
type child struct {
	cmd  *exec.Cmd
	at   Endpoint
	what string
	// program is the name of the program, not of the programs that start it.
	program string
	out     *transcript
	done    chan struct{}
	err     error
}

func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

func (c *child) signal(sig syscall.Signal) {
	if c.at.Far && sig == syscall.SIGSTOP {
		sig = syscall.SIGTSTP
	}
	if !c.ended() {
		_ = syscall.Kill(-c.cmd.Process.Pid, sig)
	}
}

// kill ends the program and its group, and waits until it is gone.
func (c *child) kill() {
	c.signal(syscall.SIGKILL)
	<-c.done
}

// wait returns when the program has ended.
func (c *child) wait(ctx context.Context) error {
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		c.kill()
		return fail("run", c.what, errors.New("killed after its time-out; it said: "+c.out.tail()))
	}
}

// says waits until the program has printed the text.
func (c *child) says(ctx context.Context, text string) error {
	for {
		have, changed := c.out.next()
		if strings.Contains(have, text) {
			return nil
		}
		select {
		case <-changed:
		case <-c.done:
			if strings.Contains(c.out.String(), text) {
				return nil
			}
			return fail("run", c.what, errors.New("ended early; it said: "+c.out.tail()))
		case <-ctx.Done():
			c.kill()
			return fail("run", c.what, fmt.Errorf("never said %q; it said: %s", text, c.out.tail()))
		}
	}
}

// failure returns the exit status of an ended program, with its last output.
func (c *child) failure() error {
	if c.err == nil {
		return nil
	}
	return fail("run", c.what, fmt.Errorf("%w; it said: %s", c.err, c.out.tail()))
}

// transcript is what a program has printed; readers can wait for more.
type transcript struct {
	mu      sync.Mutex
	text    []byte
	changed chan struct{}
}

// transcriptLimit is far above what any of the tools prints, in bytes.
const transcriptLimit = 1 << 20

func newTranscript() *transcript { return &transcript{changed: make(chan struct{})} }

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.text) < transcriptLimit {
		t.text = append(t.text, p...)
	}
	close(t.changed)
	t.changed = make(chan struct{})
	return len(p), nil
}

func (t *transcript) next() (string, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return plain(string(t.text)), t.changed
}

func (t *transcript) String() string {
	s, _ := t.next()
	return s
}

func (t *transcript) tail() string { return tail(t.String()) }

var colour = lazyregexp.New("\x1b\\[[0-9;]*[a-zA-Z]")

func plain(s string) string { return colour.ReplaceAllString(s, "") }

// tail is the end of a tool's output on one line, for error messages.
func tail(s string) string {
	lines := strings.FieldsFunc(plain(s), func(r rune) bool { return r == '\n' || r == '\r' })
	s = strings.Join(lines, " | ")
	if len(s) > 400 {
		s = "… " + strings.ToValidUTF8(s[len(s)-400:], "")
	}
	if s == "" {
		return "(nothing)"
	}
	return s
}
