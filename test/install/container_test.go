package install_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/poll"
)

// container is a Debian with systemd in a container of this machine's kernel.
type container struct {
	dir   string
	cmd   *exec.Cmd
	words bytes.Buffer // of the script that starts it; to be read when it has ended
	ended chan struct{}
	end   context.CancelFunc
}

// startContainer starts a Debian with a folder as root's, of which it runs machine.sh. It ends with the
// test.
func startContainer(t *testing.T, root string) *container {
	t.Helper()
	need(t, "unshare", "setpriv", "pivot_root")
	script, err := filepath.Abs("testdata/container.sh")
	if err != nil {
		t.Fatal(err)
	}
	c := &container{dir: filepath.Dir(root), ended: make(chan struct{})}
	ctx, end := context.WithCancel(context.Background())
	c.end = end
	c.cmd = exec.CommandContext(ctx, script, debian(t, "systemd"), c.dir)
	c.cmd.Stdout, c.cmd.Stderr, c.cmd.WaitDelay = &c.words, &c.words, 5*time.Second
	// it ends with the thread that starts it
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(c.ended)
		err := c.cmd.Start()
		started <- err
		if err == nil {
			c.cmd.Wait()
		}
	}()
	t.Cleanup(func() {
		end()
		<-c.ended
		if group, err := os.ReadFile(filepath.Join(c.dir, "cgroup")); err == nil {
			removeGroup(t, strings.TrimSpace(string(group)))
		}
	})
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	return c
}

// removeGroup removes a control group with all below it. One whose last process has just been killed is busy
// for a moment (cgroups(7)).
func removeGroup(t *testing.T, group string) {
	t.Helper()
	_, err := poll.Until(time.Minute, 10*time.Millisecond, func() error {
		if _, err := os.Stat(group); errors.Is(err, os.ErrNotExist) {
			return nil
		}
		out, err := exec.Command("find", group, "-depth", "-type", "d", "-delete").CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	if err != nil {
		t.Errorf("remove control group %s: %v", group, err)
	}
}

// console is what it has printed.
func (c *container) console() string {
	text, _ := os.ReadFile(filepath.Join(c.dir, "console"))
	return string(text)
}

// outcome tells how it has ended. It skips the test if this machine cannot have one.
func (c *container) outcome(t *testing.T) string {
	t.Helper()
	if c.cmd.ProcessState.ExitCode() == 75 {
		t.Skip("no cgroup for a systemd of its own: ", c.words.String())
	}
	return c.cmd.ProcessState.String() + " " + c.words.String()
}

// wait waits until it has ended by itself, and returns what it has printed.
func (c *container) wait(t *testing.T) string {
	t.Helper()
	defer time.AfterFunc(20*time.Minute, c.end).Stop()
	<-c.ended
	t.Logf("the container ended: %s", c.outcome(t))
	return c.console()
}
