package kernel

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// softChecksums reports whether transmit checksum offload is off at an interface:
// what it sends has its checksums computed before it is encapsulated.
// (SIOCETHTOOL, linux/ethtool.h.)
func (s *site) softChecksums(name string) (bool, error) {
	on, err := s.ethtool(name, unix.ETHTOOL_GTXCSUM, 0)
	return on == 0, err
}

// setSoftChecksums turns the offload off or on, and with it segmentation offload,
// which stands on it.
func (s *site) setSoftChecksums(name string, soft bool) error {
	on := uint32(1)
	if soft {
		on = 0
	}
	_, err := s.ethtool(name, unix.ETHTOOL_STXCSUM, on)
	return err
}

// ethtool does a request with a value of 32 bits. A netlink socket passes on
// requests about interfaces, in its own namespace.
func (s *site) ethtool(name string, command, value uint32) (uint32, error) {
	v := struct{ command, value uint32 }{command, value} // struct ethtool_value
	var pin runtime.Pinner
	pin.Pin(&v)
	defer pin.Unpin()
	// struct ifreq is the name, and then a pointer to the value.
	request := struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [24 - unsafe.Sizeof(uintptr(0))]byte
	}{data: unsafe.Pointer(&v)}
	copy(request.name[:unix.IFNAMSIZ-1], name)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(s.rt.fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return 0, fmt.Errorf("checksum offload of %s: %w", name, errno)
	}
	return v.value, nil
}
