package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/test/cell"
)

// inside names the folder of the real programs, in a process that has the
// machine for itself.
const inside = "HEDDLE_TEST_MACHINE"

func TestMain(m *testing.M) {
	if os.Getenv(inside) != "" {
		if err := furnish(); err != nil {
			fmt.Fprintln(os.Stderr, "furnish the machine:", err)
			os.Exit(1)
		}
	}
	code := m.Run()
	if programsDir != "" {
		os.RemoveAll(programsDir)
	}
	os.Exit(code)
}

// alone runs the calling test again in network, mount, process and host name
// namespaces of its own, with heddle and heddled in its path. It returns true
// in there, and false outside when all is over.
func alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inside) != "" {
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root, for network namespaces")
	}
	dir := programs(t)
	var pattern []string
	for _, part := range strings.Split(t.Name(), "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// A shell as the first process reaps orphans. The kernel keeps the init of a lab until all in its
	// PID namespace are reaped.
	cmd := exec.Command("sh", "-c", `"$@"; exit $?`, "sh", self, "-test.run", strings.Join(pattern, "/"), "-test.v="+strconv.FormatBool(testing.Verbose()))
	cmd.Env = append(os.Environ(), inside+"="+dir, "PATH="+dir+":"+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS}
	out, err := cmd.CombinedOutput()
	if err != nil || testing.Verbose() {
		t.Logf("%s", bytes.TrimSpace(out))
	}
	if err != nil {
		t.Fatal(err)
	}
	return false
}

// programsDir is that folder, which ends with the process.
var programsDir string

// haveFolder makes it, unless the packages of this run share one.
var haveFolder = sync.OnceValue(func() (err error) {
	if os.Getenv(cell.Programs) != "" {
		return nil
	}
	if programsDir, err = os.MkdirTemp("", "heddle-programs"); err != nil {
		return err
	}
	return os.Setenv(cell.Programs, programsDir)
})

// programs builds the real programs: where those of all packages lie, or else in a folder of this process.
func programs(t *testing.T) (dir string) {
	t.Helper()
	cell.Must(t, haveFolder())
	cell.Build(t, "heddled")
	return filepath.Dir(cell.Build(t, "heddle"))
}

// furnish makes the namespaces look like a machine: an own /run, an interface
// with a default route.
func furnish() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("run", "/run", "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	for _, line := range []string{
		"link set lo up",
		"link add eth0 type veth peer name wire",
		"address add 192.0.2.10/24 dev eth0",
		"-6 address add 2001:db8::10/64 dev eth0 nodad",
		"link set wire up", "link set eth0 up",
		"route add default via 192.0.2.1",
	} {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", line, err, out)
		}
	}
	return nil
}

// shell runs a script of the shell in a new folder.
func shell(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "script.sh")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", file)
	cmd.Dir = dir
	cmd.WaitDelay = 10 * time.Second // what a script that failed has left in the background holds its output
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
