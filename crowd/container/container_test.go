package container_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/container"
	"github.com/heddle-network/heddle/test/namespace"
	"github.com/heddle-network/heddle/test/poll"
)

// within names the environment variable with the program's mark, for the process that is killed.
const within = "HEDDLE_TEST_CONTAINER"

// shell is a script that runs in a container.
func shell(script string) container.Program {
	return container.Program{Path: "/usr/bin/sh", Args: []string{"-c", script}, Folders: []string{"/run/own"}, Size: 1 << 20,
		Files: []container.File{{Name: "/etc/own/word", Write: func(w io.Writer) error { _, err := io.WriteString(w, "its own"); return err }}}}
}

// said starts a script, and returns its words, and how it ended.
func said(t *testing.T, script string) string {
	t.Helper()
	c, err := container.Start(namespace.New(t), shell(script))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.How()
}

// TestRights: a program is nobody, has no privileges, and sees nothing of the host but programs and libraries.
func TestRights(t *testing.T) {
	secret := t.TempDir() + "/secret"
	if err := os.WriteFile(secret, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for script, want := range map[string]string{
		"id -u; id -g; id -G; echo $$":                             "exit status 0: 65534; 65534; 65534; 1",
		"cat /etc/own/word":                                        "exit status 0: its own",
		"ls / | tr '\\n' ' '":                                      "etc ",
		"ls -A /etc | tr '\\n' ' '":                                "own ",
		"ls -A /dev | tr '\\n' ' '":                                "null random urandom zero",
		"cat " + secret:                                            "No such file",
		"touch /usr/x /etc/x /x; echo >/etc/own/word":              "Read-only file system",
		"echo x > /run/own/x && cat /run/own/x":                    "exit status 0: x",
		"dd if=/dev/zero of=/run/own/x bs=1M count=9":              "No space left on device",
		"echo x >/dev/null && head -c 3 /dev/urandom | wc -c":      "exit status 0: 3",
		"printf '\\033[2Jone\\ntwo'; exit 7":                       "exit status 7: [2Jone; two",
		"exit 7":                                                   "exit status 7",
		"for i in $(seq 2000); do : > /run/own/$i || exit 3; done": "No space left on device",
		"cp /usr/bin/true /run/own/true && /run/own/true":          "Permission denied",
	} {
		if got := said(t, script); !strings.Contains(got, want) {
			t.Errorf("%s: %s; expected %s", script, got, want)
		}
	}
	if got := said(t, "touch /etc/x || touch /x || echo >/etc/own/word || echo refused"); !strings.Contains(got, "refused") {
		t.Error(got)
	}
	if got := said(t, "ls /"); strings.Contains(got, "home") || strings.Contains(got, "proc") {
		t.Error(got)
	}
}

// TestStatus: what the kernel says of a program from outside.
func TestStatus(t *testing.T) {
	open, err := syscall.Open("/", syscall.O_RDONLY, 0) // as a shell may leave it to what it starts
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(open)
	mark := fmt.Sprint("7", os.Getpid())
	c, err := container.Start(namespace.New(t), shell("sleep "+mark+" & sleep "+mark))
	if err != nil {
		t.Fatal(err)
	}
	poll.For(t, time.Minute, 5*time.Millisecond, "both run", func() bool { return len(sleeping(mark)) == 2 })
	status, err := os.ReadFile("/proc/" + sleeping(mark)[0] + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Uid:\t65534\t65534\t65534\t65534", "CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "CapAmb:\t0000000000000000", "NoNewPrivs:\t1"} {
		if !strings.Contains(string(status), want) {
			t.Errorf("%q is not in\n%s", want, status)
		}
	}
	if files, err := os.ReadDir("/proc/" + sleeping(mark)[0] + "/fd"); err != nil || len(files) != 3 {
		t.Errorf("it has the open files %v, %v", files, err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), "heddle-crowd") {
		t.Errorf("others see the container's mounts: %v", err)
	}
	c.Close()
	c.Close()
	if left := sleeping(mark); len(left) > 0 || !strings.Contains(c.How(), "killed") {
		t.Errorf("%v are left; %s", left, c.How())
	}
}

// sleeping lists the processes that sleep for as long as the mark says.
func sleeping(mark string) []string {
	out, _ := exec.Command("pgrep", "-x", "-f", "sleep "+mark).Output()
	return strings.Fields(string(out))
}

// TestKilled: when the process that started a container is killed, nothing of it is left.
func TestKilled(t *testing.T) {
	if mark := os.Getenv(within); mark != "" {
		if _, err := container.Start(namespace.New(t), shell("sleep "+mark+" & sleep "+mark)); err != nil {
			t.Fatal(err)
		}
		select {}
	}
	namespace.New(t)
	mark := fmt.Sprint("8", os.Getpid())
	cmd := exec.Command(os.Args[0], "-test.run", "^TestKilled$")
	cmd.Env = append(os.Environ(), within+"="+mark)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	poll.For(t, time.Minute, 5*time.Millisecond, "the container's processes run", func() bool { return len(sleeping(mark)) == 2 })
	cmd.Process.Kill()
	cmd.Wait()
	poll.For(t, time.Minute, 5*time.Millisecond, "nothing is left", func() bool { return len(sleeping(mark)) == 0 })
}

// TestStartFails: a program that cannot be started says why, and its container leaves nothing.
func TestStartFails(t *testing.T) {
	n := namespace.New(t)
	for want, p := range map[string]container.Program{
		"no such file": {Path: "/usr/bin/none-such", Size: 1 << 20},
		"no space":     {Path: "/usr/bin/true", Size: 1 << 20, Files: []container.File{{Name: "/big", Write: func(w io.Writer) error { _, err := w.Write(make([]byte, 2<<20)); return err }}}},
	} {
		if _, err := container.Start(n, p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; expected %s", err, want)
		}
	}
}
