package frames

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// OpenTAP makes a TAP device that lives as long as its file (linux/if_tun.h). The kernel computes checksums and cuts
// segments before frames come out of it.
func OpenTAP(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("TUNSETIFF", err)
	}
	return os.NewFile(uintptr(fd), name), nil
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
