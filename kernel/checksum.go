package kernel

import (
	"fmt"

	"github.com/heddle-network/heddle/ethtool"
	"golang.org/x/sys/unix"
)

// softChecksums reports whether transmit checksum offload is off at an interface. Then the kernel
// computes the checksums of its packets before it encapsulates them.
func (s *session) softChecksums(name string) (bool, error) {
	on, err := s.ethtool(name, unix.ETHTOOL_GTXCSUM, 0)
	return on == 0, err
}

// setSoftChecksums turns the offload off or on, together with segmentation offload, which depends
// on it.
func (s *session) setSoftChecksums(name string, soft bool) error {
	on := uint32(1)
	if soft {
		on = 0
	}
	_, err := s.ethtool(name, unix.ETHTOOL_STXCSUM, on)
	return err
}

// ethtool makes a request about an interface of the session. A netlink socket passes the request
// on, in the socket's own namespace.
func (s *session) ethtool(name string, command, value uint32) (uint32, error) {
	value, err := ethtool.Request(s.rt.fd, name, command, value)
	if err != nil {
		return 0, fmt.Errorf("checksum offload of %s: %w", name, err)
	}
	return value, nil
}
