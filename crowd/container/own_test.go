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
)

// TestKeyring: a program does not have the session's keyring, in which keys of root's may be. All threads of a process have
// that with which it began.
func TestKeyring(t *testing.T) {
	if os.Getenv(within) == "" {
		namespace(t)
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
	defer syscall.Umask(syscall.Umask(0o077))
	if got := said(t, "cat /etc/own/word; echo x > /run/own/x && cat /run/own/x"); !strings.Contains(got, "its ownx") {
		t.Error(got)
	}
}

// TestSignalEnded: nobody else is signalled in place of a program that has ended.
func TestSignalEnded(t *testing.T) {
	c, err := container.Start(namespace(t), shell("exit 0"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.How()
	if err := c.Pause(); !errors.Is(err, unix.ESRCH) {
		t.Error(err)
	}
}
