package lab

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// cut turns segmentation offload off at one end of a wire: what leaves it are
// frames of the MTU, each by itself, as on a cable. Without that a veth hands
// TCP's 64 KiB segments on uncut. Checksums stay uncomputed either way.
// (SIOCETHTOOL, linux/ethtool.h; netlink has no request for a link in another
// namespace that older kernels know.)
func (s *stack) cut(name string) error {
	return s.inside(func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		for what, command := range map[string]uint32{"tso": unix.ETHTOOL_STSO, "gso": unix.ETHTOOL_SGSO, "gro": unix.ETHTOOL_SGRO} {
			if err := ethtool(fd, name, command, 0); err != nil {
				return fmt.Errorf("turn %s off: %w", what, err)
			}
		}
		return nil
	})
}

// ethtoolValue is struct ethtool_value.
type ethtoolValue struct{ command, value uint32 }

func ethtool(fd int, name string, command, value uint32) error {
	request, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	v := ethtoolValue{command, value}
	var pin runtime.Pinner
	pin.Pin(&v)
	defer pin.Unpin()
	// struct ifreq is the name, and then a pointer to the value.
	raw := struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [24 - unsafe.Sizeof(uintptr(0))]byte
	}{data: unsafe.Pointer(&v)}
	copy(raw.name[:], request.Name())
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&raw))); errno != 0 {
		return errno
	}
	return nil
}

// inside runs a function in the namespace, on a thread of its own that ends
// with it.
func (s *stack) inside(f func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked
		if err := netns.Set(s.ns); err != nil {
			result <- err
			return
		}
		result <- f()
	}()
	return <-result
}
