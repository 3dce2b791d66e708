package kernel

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

func (s *site) putProgram(index, to int, p netip.Prefix) error { return unix.EOPNOTSUPP }

func decodeProgram(options map[uint16][]byte) (redirectAt, bool) { return redirectAt{}, false }
