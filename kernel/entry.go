package kernel

import (
	"net"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// entry is a row of a neighbour table or of a bridge's forwarding table. The kernel describes both
// with struct ndmsg (linux/neighbour.h).
type entry struct {
	index int
	addr  netip.Addr
	mac   heddle.MAC
	state int
	vlan  bool
	// self says that the entry belongs to the device itself, not to its bridge.
	self bool
	// aside holds the port, VNI or device of a tunnel's entry, if it differs from the device's own
	// settings.
	aside map[uint16][]byte
}

// permanent reports whether an entry of the neighbour table was made by hand.
func (e entry) permanent() bool { return e.state&unix.NUD_PERMANENT != 0 }

// static reports whether an entry of the forwarding table was made by hand and is not the port's
// own address.
func (e entry) static() bool { return e.state&unix.NUD_NOARP != 0 }

const sizeofNdmsg = 12

func decodeEntry(b []byte) (entry, bool) {
	if len(b) < sizeofNdmsg {
		return entry{}, false
	}
	at := attributes(b[sizeofNdmsg:])
	e := entry{index: int(number(b[4:])), state: int(nl.NativeEndian().Uint16(b[8:])), vlan: at.get(netlink.NDA_VLAN) != nil}
	e.addr, _ = netip.AddrFromSlice(at.get(netlink.NDA_DST))
	if mac := at.get(netlink.NDA_LLADDR); len(mac) == 6 {
		e.mac = heddle.MAC(net.HardwareAddr(mac).String())
	}
	e.self = b[10]&netlink.NTF_SELF != 0
	for _, kind := range asideAttributes {
		if v := at.get(kind); v != nil && e.self {
			if e.aside == nil {
				e.aside = map[uint16][]byte{}
			}
			e.aside[kind] = slices.Clone(v)
		}
	}
	return e, true
}

var asideAttributes = []uint16{netlink.NDA_PORT, netlink.NDA_VNI, netlink.NDA_IFINDEX}

// leads reports whether an entry of a tunnel leads permanently to the tunnel end at dst.
func (e entry) leads(dst netip.Addr) bool { return e.addr == dst && e.permanent() && e.aside == nil }
