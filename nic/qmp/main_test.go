package qmp

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/frames"
	"github.com/heddle-network/heddle/lab/boot"
)

// native makes QEMU ask the guest by native PCIe hot-plug, and not by ACPI. Then a port that no guest
// has powered on lets a device go at once.
var native = []string{"-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off"}

func port(options string) []string { return []string{"-device", "pcie-root-port," + options} }

// emulator starts QEMU without a guest, with such options, and returns its socket.
func emulator(t *testing.T, options ...[]string) (socket string, qemu *exec.Cmd) {
	t.Helper()
	if _, err := exec.LookPath(boot.QEMU); err != nil {
		if os.Getenv("HEDDLE_REQUIRE_VM") == "1" {
			t.Fatal(err)
		}
		t.Skip("needs QEMU (Debian: qemu-system-x86)")
	}
	folder, err := os.MkdirTemp("", "qmp") // t.TempDir's names are too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(folder, "socket")
	args := []string{"-M", "q35", "-nodefaults", "-no-user-config", "-display", "none", "-S", "-qmp", "unix:" + socket + ",server=on,wait=off"}
	for _, o := range options {
		args = append(args, o...)
	}
	qemu = exec.Command(boot.QEMU, args...)
	qemu.Stdout, qemu.Stderr = os.Stdout, os.Stderr
	if err := qemu.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		qemu.Process.Kill()
		qemu.Wait()
		os.RemoveAll(folder)
	})
	return socket, qemu
}

// limit is a context for what takes milliseconds on an idle processor.
func limit(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// machine starts QEMU and connects to it.
func machine(t *testing.T, options ...[]string) (*Machine, *exec.Cmd) {
	t.Helper()
	socket, qemu := emulator(t, options...)
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		m, err := Dial(limit(t), socket)
		if err == nil {
			t.Cleanup(func() { m.Close() })
			return m, qemu
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// tap opens a TAP device in a network namespace that nothing else is in.
func tap(t *testing.T) *os.File { return taps(t, 1)[0] }

// taps is tap for so many queues.
func taps(t *testing.T, queues int) []*os.File {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making TAP devices needs root")
	}
	type opened struct {
		files []*os.File
		err   error
	}
	result := make(chan opened)
	go func() {
		runtime.LockOSThread() // and never unlocked, so that the thread ends
		err := unix.Unshare(unix.CLONE_NEWNET)
		var first *os.File
		switch {
		case err != nil:
		case queues == 1:
			first, err = frames.NewTAP("tap0")
		default:
			first, err = frames.NewMultiQueueTAP("tap0")
		}
		files := []*os.File{first}
		if err == nil && queues > 1 {
			err = frames.KeepTAP(first)
			first.Close()
			if err == nil {
				files, err = frames.OpenQueues("tap0", queues)
			}
		}
		result <- opened{files, err}
	}()
	o := <-result
	if o.err != nil {
		t.Fatal(o.err)
	}
	for _, f := range o.files {
		t.Cleanup(func() { f.Close() })
	}
	return o.files
}

// refused fails the test unless the error is of that code.
func refused(t *testing.T, err error, code heddle.Code) {
	t.Helper()
	if code.In(err) == nil {
		t.Errorf("error %v, want one of code %s", err, code)
	}
}

func slots(t *testing.T, m *Machine, wantAll, wantFree int) {
	t.Helper()
	all, free, err := m.Slots(limit(t))
	if err != nil || all != wantAll || free != wantFree {
		t.Errorf("slots: %d, %d free, %v; want %d, %d free", all, free, err, wantAll, wantFree)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const (
	stop   = unix.SIGSTOP
	resume = unix.SIGCONT
)
