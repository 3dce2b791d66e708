// Package tap makes TAP devices, whose frames a program reads and writes (linux/if_tun.h).
package tap

import (
	"os"

	"golang.org/x/sys/unix"
)

// Open makes a TAP device in the calling thread's network namespace. It lives as long as its file, and has the index,
// or any if that is 0. Each frame has a virtio header before it. The kernel computes checksums and cuts segments before
// frames come out of it.
func Open(name string, index int) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("open /dev/net/tun", err)
	}
	if err := set(fd, name, index); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func set(fd int, name string, index int) error {
	request, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	if index != 0 {
		if err := unix.IoctlSetPointerInt(fd, unix.TUNSETIFINDEX, index); err != nil {
			return os.NewSyscallError("TUNSETIFINDEX", err)
		}
	}
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	return os.NewSyscallError("TUNSETIFF", unix.IoctlIfreq(fd, unix.TUNSETIFF, request))
}

// Frames returns a function that reads frames of up to a size from a TAP, headers included.
func Frames(tap *os.File, size int) func() ([]byte, error) {
	buffer := make([]byte, size)
	return func() ([]byte, error) {
		n, err := tap.Read(buffer)
		if err != nil {
			return nil, err
		}
		return append([]byte(nil), buffer[:n]...), nil
	}
}
