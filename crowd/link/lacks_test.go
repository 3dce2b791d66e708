package link

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// TestCheck: what links need is there.
func TestCheck(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("making namespaces needs root")
	}
	if err := Check(); err != nil {
		t.Error(err)
	}
}

// TestLacks: a kernel without eBPF is refused, by a process that may not call bpf(2).
func TestLacks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("making namespaces needs root")
	}
	if os.Getenv("HEDDLE_TEST_LACKS") == "" {
		child := exec.Command(os.Args[0], "-test.run=^TestLacks$")
		child.Env = append(os.Environ(), "HEDDLE_TEST_LACKS=1")
		if out, err := child.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	filter := []unix.SockFilter{ // of the number of a system call (linux/seccomp.h)
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_BPF},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program))); errno != 0 {
		t.Skip("this kernel has no seccomp: ", errno)
	}
	err := Check()
	if !errors.Is(err, heddle.NotOnKernel.Sentinel()) || !strings.Contains(err.Error(), "take link out") {
		t.Error(err)
	}
	t.Log(err)
}
