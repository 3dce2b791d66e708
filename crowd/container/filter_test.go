package container

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// TestRules: what the filter lets pass, by its own machine, which reads in the order of the network.
func TestRules(t *testing.T) {
	const i386 = unix.AUDIT_ARCH_I386
	for _, c := range []struct {
		audit, number uint32
		args          [2]uint32
		want          uint32
	}{
		{unix.AUDIT_ARCH_X86_64, unix.SYS_READ, [2]uint32{}, unix.SECCOMP_RET_ALLOW},
		{unix.AUDIT_ARCH_X86_64, unix.SYS_UNSHARE, [2]uint32{}, uint32(unix.EPERM)},
		{unix.AUDIT_ARCH_X86_64, unix.SYS_SETNS, [2]uint32{3}, uint32(unix.EPERM)},
		{unix.AUDIT_ARCH_X86_64, unix.SYS_CLONE3, [2]uint32{}, uint32(unix.ENOSYS)},
		{unix.AUDIT_ARCH_X86_64, unix.SYS_IO_URING_SETUP, [2]uint32{}, uint32(unix.ENOSYS)},
		{unix.AUDIT_ARCH_X86_64, unix.SYS_CLONE, [2]uint32{unix.CLONE_VM}, unix.SECCOMP_RET_ALLOW},
		{unix.AUDIT_ARCH_X86_64, unix.SYS_CLONE, [2]uint32{unix.CLONE_VM | unix.CLONE_NEWUSER}, uint32(unix.EPERM)},
		{unix.AUDIT_ARCH_X86_64, unix.SYS_PRCTL, [2]uint32{unix.PR_SET_NAME}, unix.SECCOMP_RET_ALLOW},
		{unix.AUDIT_ARCH_X86_64, unix.SYS_PRCTL, [2]uint32{unix.PR_SET_PDEATHSIG, 9}, unix.SECCOMP_RET_ALLOW},
		{unix.AUDIT_ARCH_X86_64, unix.SYS_PRCTL, [2]uint32{unix.PR_SET_PDEATHSIG, 0}, uint32(unix.EPERM)},
		{unix.AUDIT_ARCH_X86_64, unix.SYS_PRCTL, [2]uint32{unix.PR_SET_PDEATHSIG, 15}, uint32(unix.EPERM)},
		{unix.AUDIT_ARCH_X86_64, unix.SYS_SOCKET, [2]uint32{unix.AF_INET6}, unix.SECCOMP_RET_ALLOW},
		{unix.AUDIT_ARCH_X86_64, unix.SYS_SOCKET, [2]uint32{unix.AF_VSOCK}, uint32(unix.EAFNOSUPPORT)},
		{unix.AUDIT_ARCH_X86_64, unix.SYS_SOCKETPAIR, [2]uint32{unix.AF_UNIX}, unix.SECCOMP_RET_ALLOW},
		{unix.AUDIT_ARCH_X86_64, unix.SYS_SOCKETPAIR, [2]uint32{unix.AF_VSOCK}, uint32(unix.EAFNOSUPPORT)},
		{unix.AUDIT_ARCH_X86_64, x32 | unix.SYS_READ, [2]uint32{}, uint32(unix.ENOSYS)},
		{i386, 3, [2]uint32{}, uint32(unix.EPERM)},
		{i386, 172, [2]uint32{unix.PR_SET_PDEATHSIG, 0}, uint32(unix.EPERM)}, // prctl
		{unix.AUDIT_ARCH_AARCH64, unix.SYS_READ, [2]uint32{}, uint32(unix.EPERM)},
	} {
		if got := verdict(t, rules(unix.AUDIT_ARCH_X86_64), c.audit, c.number, c.args); got&0xffff != c.want&0xffff || (got == unix.SECCOMP_RET_ALLOW) != (c.want == unix.SECCOMP_RET_ALLOW) {
			t.Errorf("%x, %d, %v: %x; expected %x", c.audit, c.number, c.args, got, c.want)
		}
	}
	if got := verdict(t, rules(unix.AUDIT_ARCH_AARCH64), unix.AUDIT_ARCH_AARCH64, x32|1, [2]uint32{}); got != unix.SECCOMP_RET_ALLOW {
		t.Errorf("another processor has no such numbers: %x", got)
	}
}

// verdict is what a filter says of a system call.
func verdict(t *testing.T, rules []bpf.Instruction, audit, number uint32, args [2]uint32) uint32 {
	t.Helper()
	vm, err := bpf.NewVM(rules)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[numberAt:], number)
	binary.BigEndian.PutUint32(data[auditAt:], audit)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[argumentAt(uint32(i)).Off:], a)
	}
	got, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(got)
}
