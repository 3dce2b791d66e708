package install_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// container starts a Debian with systemd as a container of this machine's
// kernel, and returns what root's machine.sh printed there.
func container(t *testing.T, root string) string {
	t.Helper()
	need(t, "unshare", "setpriv", "pivot_root")
	tree, dir := debian(t, "systemd"), filepath.Dir(root)
	script, err := filepath.Abs("testdata/container.sh")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, script, tree, dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, 5*time.Second
	// it ends with the thread that started it
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	t.Cleanup(func() {
		if group, err := os.ReadFile(filepath.Join(dir, "cgroup")); err == nil {
			run(t, nil, "find", strings.TrimSpace(string(group)), "-depth", "-type", "d", "-exec", "rmdir", "{}", ";")
		}
	})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 75 {
		t.Skip("no cgroup for a systemd of its own: ", out.String())
	}
	console, _ := os.ReadFile(filepath.Join(dir, "console"))
	t.Logf("the container ended: %v %s", err, out.String())
	return string(console)
}
