package vm

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// setupFailed is the exit status of a guest that could not be made ready for its tests.
const setupFailed = 99

// mounts are the guest's file systems. One that the kernel lacks is left out.
var mounts = []struct{ kind, dir, options string }{
	{"proc", "/proc", ""},
	{"sysfs", "/sys", ""},
	{"devtmpfs", "/dev", ""},
	{"devpts", "/dev/pts", ""},
	{"tmpfs", "/dev/shm", ""},
	{"tmpfs", "/tmp", "mode=1777"},
	{"tmpfs", "/run", "mode=755"},
	{"cgroup2", "/sys/fs/cgroup", ""},
	{"bpf", "/sys/fs/bpf", ""},
	{"tracefs", "/sys/kernel/tracing", ""},
}

// InGuest reports whether this process runs in a guest.
func InGuest() bool {
	_, err := os.Stat(guestDir)
	return err == nil
}

// Main runs a package's tests. Call it from TestMain and exit with the result. As the first process
// of a guest it first makes the guest ready; after the tests it prints their status, powers off, and
// does not return.
func Main(m *testing.M) int {
	if os.Getpid() != 1 || !InGuest() {
		return m.Run()
	}
	status := setupFailed
	if err := ready(); err != nil {
		fmt.Println("make the guest ready:", err)
	} else {
		flag.Parse()
		status = m.Run()
	}
	fmt.Printf("\n%s %d\n", exitLine, status)
	unix.Sync()
	fmt.Println("power off:", unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF))
	return status
}

// ready makes the guest ready and executes the program again: libraries that look for /proc when they
// are initialised now find it. Only after that it has the tests' arguments.
func ready() error {
	const mark = "HEDDLE_GUEST_READY"
	if os.Getenv(mark) == "" {
		if err := setup(); err != nil {
			return err
		}
		return unix.Exec("/proc/self/exe", os.Args, append(os.Environ(), mark+"=1"))
	}
	os.Unsetenv(mark)
	return readArgs()
}

// setup makes what tests expect of a host in the initramfs.
func setup() error {
	if err := mountAll(); err != nil {
		return err
	}
	if err := linkDescriptors(); err != nil {
		return err
	}
	if err := loadModules(); err != nil {
		return err
	}
	if err := loopbackUp(); err != nil {
		return err
	}
	os.Setenv("PATH", strings.Join(toolFolders, ":"))
	os.Setenv("HOME", "/root")
	return nil
}

// readArgs reads the tests' arguments.
func readArgs() error {
	args, err := os.ReadFile(argsFile)
	if err != nil {
		return fmt.Errorf("read the test arguments: %w", err)
	}
	os.Args = []string{"/init"}
	for arg := range strings.SplitAfterSeq(string(args), "\x00") {
		if arg, ended := strings.CutSuffix(arg, "\x00"); ended {
			os.Args = append(os.Args, arg)
		}
	}
	return nil
}

func mountAll() error {
	for _, m := range mounts {
		if err := os.MkdirAll(m.dir, 0o755); err != nil { // below /dev, the archive's folders are hidden by now
			continue
		}
		err := unix.Mount(m.kind, m.dir, m.kind, 0, m.options)
		if err != nil && !errors.Is(err, unix.ENODEV) && !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("mount %s on %s: %w", m.kind, m.dir, err)
		}
	}
	return nil
}

// linkDescriptors makes /dev/fd, /dev/stdin and so on, as a host has them.
func linkDescriptors() error {
	links := map[string]string{"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"}
	for name, number := range links {
		if err := os.Symlink("/proc/self/fd"+number, "/dev/"+name); err != nil {
			return err
		}
	}
	return nil
}

// loadModules loads the modules of the archive. If one cannot be loaded, the console shows its name:
// the test that needs it fails.
func loadModules() error {
	list, err := os.ReadFile(modulesList)
	if err != nil {
		return fmt.Errorf("read the list of modules: %w", err)
	}
	for path := range bytes.Lines(list) {
		if err := loadModule(string(bytes.TrimSpace(path))); err != nil {
			fmt.Println(err)
		}
	}
	return nil
}

func loadModule(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("load a kernel module: %w", err)
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), "", 0); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("load kernel module %s: %w", path, err)
	}
	return nil
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("set link lo up: %w", err)
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("set link lo up: %w", err)
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("set link lo up: %w", err)
	}
	return nil
}
