package container

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// audits are how the kernel names the system calls of each processor (linux/audit.h).
var audits = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// x32 is the first number of the system calls of another kind on amd64.
const x32 = 0x40000000

// Where a filter finds what was called (linux/seccomp.h, struct seccomp_data).
const (
	numberAt = 0
	auditAt  = 4
)

// argumentAt is where the lower half of an argument is, from 0.
func argumentAt(i uint32) bpf.LoadAbsolute { return bpf.LoadAbsolute{Off: 16 + 8*i, Size: 4} }

// families are those of sockets that a network namespace divides.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

func refuse(e unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(e)}
}

// call is a rule for a system call: it is refused, unless the rest says otherwise.
func call(number uint32, rest ...bpf.Instruction) []bpf.Instruction {
	return append([]bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: uint8(len(rest))}}, rest...)
}

// rules refuse what would let a program outlive this process, get privileges in a namespace of its own, or leave the network namespace.
// All else is as the program's rights are (seccomp(2)).
func rules(audit uint32) []bpf.Instruction {
	allow := bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	all := []bpf.Instruction{
		bpf.LoadAbsolute{Off: auditAt, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: audit, SkipTrue: 1},
		refuse(unix.EPERM), // such as of 32 bits, whose numbers are others
		bpf.LoadAbsolute{Off: numberAt, Size: 4},
	}
	if audit == unix.AUDIT_ARCH_X86_64 {
		all = append(all, bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32, SkipTrue: 1}, refuse(unix.ENOSYS))
	}
	add := func(number uint32, rest ...bpf.Instruction) { all = append(all, call(number, rest...)...) }
	add(unix.SYS_UNSHARE, refuse(unix.EPERM))
	add(unix.SYS_SETNS, refuse(unix.EPERM))
	add(unix.SYS_CLONE3, refuse(unix.ENOSYS))         // its flags are in memory; whoever calls it then calls clone
	add(unix.SYS_IO_URING_SETUP, refuse(unix.ENOSYS)) // it makes sockets that no filter sees
	add(unix.SYS_CLONE, argumentAt(0), bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.CLONE_NEWUSER, SkipTrue: 1}, allow, refuse(unix.EPERM))
	// What starts the program sets the signal of its death, which nothing else may be.
	add(unix.SYS_PRCTL, argumentAt(0), bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.PR_SET_PDEATHSIG, SkipTrue: 1}, allow,
		argumentAt(1), bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(unix.SIGKILL), SkipTrue: 1}, allow, refuse(unix.EPERM))
	for _, number := range []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
		rest := []bpf.Instruction{argumentAt(0)}
		for _, f := range families {
			rest = append(rest, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: f, SkipTrue: 1}, allow)
		}
		add(number, append(rest, refuse(unix.EAFNOSUPPORT))...)
	}
	return append(all, allow)
}

// filter has the calling thread, and all that it starts, call only what rules let pass. It has no_new_privs.
func filter() error {
	audit, known := audits[runtime.GOARCH]
	if !known {
		return fmt.Errorf("filter system calls: heddle does not know those of %s", runtime.GOARCH)
	}
	raw, err := bpf.Assemble(rules(audit))
	if err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	all := make([]unix.SockFilter, len(raw))
	for i, one := range raw {
		all[i] = unix.SockFilter{Code: one.Op, Jt: one.Jt, Jf: one.Jf, K: one.K}
	}
	program := unix.SockFprog{Len: uint16(len(all)), Filter: &all[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
		return fmt.Errorf("filter system calls: %w; the kernel needs CONFIG_SECCOMP_FILTER", err)
	}
	return nil
}
