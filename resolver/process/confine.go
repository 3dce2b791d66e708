package process

import (
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// confinedEnv is set for the second start of a program that confines itself.
const confinedEnv = "HEDDLE_CONFINED"

// Confine takes all rights from this process, and from what it may start, but the one to open
// ports below 1024. It starts the program again, since the kernel keeps rights for each thread.
func Confine() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	have, err := rights()
	if err != nil {
		return cannotConfine(err)
	}
	noNew, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil {
		return cannotConfine(err)
	}
	keep := have.Permitted & (1 << unix.CAP_NET_BIND_SERVICE)
	if noNew == 1 && have.Permitted == keep && have.Effective == keep && have.Inheritable == 0 {
		return nil
	}
	if os.Getenv(confinedEnv) != "" {
		return cannotConfine(syscall.EPERM)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return cannotConfine(err)
	}
	if err := setRights(keep); err != nil {
		return cannotConfine(err)
	}
	return cannotConfine(syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), confinedEnv+"=1")))
}

func cannotConfine(cause error) error {
	return heddle.Wrap(heddle.ResolverDown, "give up the rights of", "the resolver", cause, "start it as root, or without any rights")
}

// capabilities are the calling thread's.
type capabilities struct{ Effective, Permitted, Inheritable uint64 }

func rights() (c capabilities, err error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return c, err
	}
	join := func(low, high uint32) uint64 { return uint64(high)<<32 | uint64(low) }
	return capabilities{join(data[0].Effective, data[1].Effective), join(data[0].Permitted, data[1].Permitted),
		join(data[0].Inheritable, data[1].Inheritable)}, nil
}

func setRights(keep uint64) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	low, high := uint32(keep), uint32(keep>>32)
	data := [2]unix.CapUserData{{Effective: low, Permitted: low}, {Effective: high, Permitted: high}}
	return unix.Capset(&header, &data[0])
}
