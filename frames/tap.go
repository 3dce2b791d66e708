package frames

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// NewTAP makes a TAP device in the calling thread's network namespace, which lives as long as its file, or until
// KeepTAP (linux/if_tun.h). Frames have the header of virtio-net, so that checksums and segments can be left to the
// other side. An interface of that name gives EEXIST.
func NewTAP(name string) (*os.File, error) { return newTAP(name, 0) }

// NewMultiQueueTAP is NewTAP for a device of several queues: each file that it is opened with is one (IFF_MULTI_QUEUE in the
// kernel's Documentation/networking/tuntap.rst). Who opens it has to say that it wants such a device, also for one queue.
func NewMultiQueueTAP(name string) (*os.File, error) { return newTAP(name, unix.IFF_MULTI_QUEUE) }

func newTAP(name string, flags uint16) (*os.File, error) {
	fd, _, err := openTAP(name, unix.IFF_TUN_EXCL|flags)
	if errors.Is(err, unix.EBUSY) {
		err = unix.EEXIST
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// OpenTAP opens a TAP device of one queue that is kept, and that nobody has open. If there is none, it gives ENODEV.
func OpenTAP(name string) (*os.File, error) { return openKept(name, 0) }

func openKept(name string, flags uint16) (*os.File, error) {
	fd, kept, err := openTAP(name, flags)
	if err == nil && !kept {
		unix.Close(fd) // the kernel has just made it
		err = unix.ENODEV
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// KeepTAP lets the device outlive its file: it is there until it is deleted.
func KeepTAP(tap *os.File) error {
	return os.NewSyscallError("TUNSETPERSIST", unix.IoctlSetInt(int(tap.Fd()), unix.TUNSETPERSIST, 1))
}

func openTAP(name string, flags uint16) (fd int, kept bool, err error) {
	if fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0); err != nil {
		return -1, false, &os.PathError{Op: "open", Path: "/dev/net/tun", Err: err}
	}
	request, err := unix.NewIfreq(name)
	if err == nil {
		request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR | flags)
		err = os.NewSyscallError("TUNSETIFF", unix.IoctlIfreq(fd, unix.TUNSETIFF, request))
	}
	if err == nil {
		err = os.NewSyscallError("TUNGETIFF", unix.IoctlIfreq(fd, unix.TUNGETIFF, request))
	}
	if err != nil {
		unix.Close(fd)
		return -1, false, err
	}
	return fd, request.Uint16()&unix.IFF_PERSIST != 0, nil
}

// FromTAP returns a function that reads frames from a TAP, and says when. Their checksums are complete.
func FromTAP(tap *os.File) func() ([]byte, time.Time, error) {
	buffer := make([]byte, maxFrame)
	return func() ([]byte, time.Time, error) {
		n, err := tap.Read(buffer)
		if err != nil {
			return nil, time.Time{}, err
		}
		return append([]byte(nil), buffer[:n]...), time.Now(), nil
	}
}
