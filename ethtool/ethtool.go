// Package ethtool reads and sets what an interface's driver computes in place of the
// host's stack, by the ioctl of ethtool(8): the netlink library has no request for it.
package ethtool

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Request does a request with a value of 32 bits (unix.ETHTOOL_GTSO, …), and returns
// the value that the kernel answers with. The socket, of any kind, says which
// namespace the interface is in. (SIOCETHTOOL, linux/ethtool.h.)
func Request(socket int, name string, command, value uint32) (uint32, error) {
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
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(socket), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return 0, errno
	}
	return v.value, nil
}
