package container_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/crowd/container"
	"github.com/heddle-network/heddle/test/namespace"
)

// TestKeyring: a program does not have the session's keyring, in which keys of root's may be. All threads of a process have
// that with which it began.
func TestKeyring(t *testing.T) {
	if os.Getenv(within) == "" {
		namespace.New(t)
		runtime.LockOSThread()
		if _, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0); err != nil {
			t.Skip("there are no keyrings here: ", err)
		}
		cmd := exec.Command(os.Args[0], "-test.v", "-test.run", "^TestKeyring$")
		cmd.Env = append(os.Environ(), within+"=keys")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	id, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
	if err != nil {
		t.Fatal(err)
	}
	got := said(t, fmt.Sprintf("perl -e 'print syscall(%d, %d, %d, 0)'", unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, unix.KEY_SPEC_SESSION_KEYRING))
	other, is := strings.CutPrefix(got, "exit status 0: ")
	if !is || other == fmt.Sprint(id) || other == "-1" {
		t.Errorf("this process has keyring %d; %s", id, got)
	}
}

// TestUmask: a program can read its files, whatever mask this process has.
func TestUmask(t *testing.T) {
	own := syscall.Umask(0o077)
	if got := said(t, "cat /etc/own/word; echo x > /run/own/x && cat /run/own/x"); !strings.Contains(got, "its ownx") {
		t.Error(got)
	}
	if mask := syscall.Umask(own); mask != 0o077 {
		t.Errorf("this process has the mask %o", mask)
	}
}

// TestNice: a program has its own niceness, and this process keeps that which it has.
func TestNice(t *testing.T) {
	n, p := namespace.New(t), shell("nice")
	before, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	p.Nice = 19
	if own := 20 - before; own == p.Nice {
		p.Nice = 18
	}
	c, err := container.Start(n, p)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := c.How(); got != fmt.Sprint("exit status 0: ", p.Nice) {
		t.Errorf("%s; expected %d", got, p.Nice)
	}
	if after, err := unix.Getpriority(unix.PRIO_PROCESS, os.Getpid()); err != nil || after != before {
		t.Errorf("%d, then %d, %v", before, after, err)
	}
}

// TestSignalEnded: nobody else is signalled in place of a program that has ended.
func TestSignalEnded(t *testing.T) {
	c, err := container.Start(namespace.New(t), shell("exit 0"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.How()
	if err := c.Pause(); !errors.Is(err, unix.ESRCH) {
		t.Error(err)
	}
}

// TestFilter: the kernel goes by the rules.
func TestFilter(t *testing.T) {
	for call, want := range map[string]string{
		fmt.Sprintf("%d, %d, 0, 0, 0", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG): "-1 Operation not permitted",
		fmt.Sprintf("%d, %d, 9, 0, 0", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG): "0",
		fmt.Sprintf("%d, %d", unix.SYS_UNSHARE, unix.CLONE_NEWUSER):           "-1 Operation not permitted",
		fmt.Sprintf("%d, %d, 0, 0, 0, 0", unix.SYS_CLONE, unix.CLONE_NEWUSER): "-1 Operation not permitted",
		fmt.Sprintf("%d, %d, 1, 0", unix.SYS_SOCKET, unix.AF_VSOCK):           "-1 Address family not supported by protocol",
		fmt.Sprintf("%d, %d, 1, 0", unix.SYS_SOCKET, unix.AF_UNIX):            "3",
		fmt.Sprintf("%d, 1, 0", unix.SYS_IO_URING_SETUP):                      "-1 Function not implemented",
	} {
		if got := said(t, fmt.Sprintf(`perl -e '$r = syscall(%s); print $r < 0 ? "$r $!" : $r'`, call)); got != "exit status 0: "+want {
			t.Errorf("%s: %q; expected %q", call, got, want)
		}
	}
}
