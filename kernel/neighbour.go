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

// entry is a row of a neighbour table or of a bridge's forwarding table; both
// speak struct ndmsg (linux/neighbour.h).
type entry struct {
	index int
	addr  netip.Addr
	mac   heddle.MAC
	state int
	vlan  bool
	// self says that it is the device's own and not its bridge's.
	self bool
	// aside holds where an entry of a tunnel leads apart from the device's own
	// settings: another port, VNI or device.
	aside map[uint16][]byte
}

// permanent entries of the neighbour table are made by hand.
func (e entry) permanent() bool { return e.state&unix.NUD_PERMANENT != 0 }

// static entries of the forwarding table are made by hand and not the port's
// own address.
func (e entry) static() bool { return e.state&unix.NUD_NOARP != 0 }

const sizeofNdmsg = 12

func decodeEntry(b []byte) (entry, bool) {
	if len(b) < sizeofNdmsg {
		return entry{}, false
	}
	at := attributes(b[sizeofNdmsg:])
	e := entry{index: int(number(b[4:])), state: int(nl.NativeEndian().Uint16(b[8:])), vlan: at[netlink.NDA_VLAN] != nil}
	e.addr, _ = netip.AddrFromSlice(at[netlink.NDA_DST])
	if mac := at[netlink.NDA_LLADDR]; len(mac) == 6 {
		e.mac = heddle.MAC(net.HardwareAddr(mac).String())
	}
	e.self = b[10]&netlink.NTF_SELF != 0
	for _, kind := range asideAttributes {
		if v, there := at[kind]; there && e.self {
			if e.aside == nil {
				e.aside = map[uint16][]byte{}
			}
			e.aside[kind] = slices.Clone(v)
		}
	}
	return e, true
}

// neighbourRequest is RTM_NEWNEIGH, RTM_DELNEIGH or RTM_GETNEIGH about a
// neighbour.
func (s *site) neighbourRequest(kind, flags int, n heddle.Neighbour) (*nl.NetlinkRequest, error) {
	index, err := s.ifindex(n.Link)
	if err != nil {
		return nil, err
	}
	head := &netlink.Ndmsg{Family: uint8(familyOf(n.Addr)), Index: uint32(index)}
	if kind == unix.RTM_NEWNEIGH {
		head.State = unix.NUD_PERMANENT
	}
	r := request(kind, flags, head)
	r.AddData(nl.NewRtAttr(netlink.NDA_DST, n.Addr.AsSlice()))
	if kind == unix.RTM_NEWNEIGH {
		r.AddData(nl.NewRtAttr(netlink.NDA_LLADDR, n.MAC.Bytes()))
	}
	return r, nil
}

// staticForward is the state of what bridge(8) calls static: not learned, and
// not the port's own address.
const staticForward = unix.NUD_NOARP | unix.NUD_REACHABLE

// tunnelForward is the state of an entry of a tunnel that no ageing and no packet
// changes.
const tunnelForward = unix.NUD_NOARP | unix.NUD_PERMANENT

var asideAttributes = []uint16{netlink.NDA_PORT, netlink.NDA_VNI, netlink.NDA_IFINDEX}

// forwardRequest is the same about an entry of a forwarding table; NTF_MASTER
// addresses the port's bridge, NTF_SELF the tunnel's own table.
func forwardRequest(kind, flags, index int, x heddle.Forward, state int) *nl.NetlinkRequest {
	head := &netlink.Ndmsg{Family: unix.AF_BRIDGE, Index: uint32(index), Flags: netlink.NTF_MASTER}
	if x.Dst.IsValid() {
		head.Flags = netlink.NTF_SELF
	}
	if kind == unix.RTM_NEWNEIGH {
		head.State = uint16(state)
	}
	r := request(kind, flags, head)
	r.AddData(nl.NewRtAttr(netlink.NDA_LLADDR, x.MAC.Bytes()))
	if kind == unix.RTM_NEWNEIGH && x.Dst.IsValid() {
		r.AddData(nl.NewRtAttr(netlink.NDA_DST, x.Dst.AsSlice()))
	}
	return r
}

// again is RTM_NEWNEIGH that makes an entry of a tunnel what it was.
func (e entry) again(flags, index int) *nl.NetlinkRequest {
	r := forwardRequest(unix.RTM_NEWNEIGH, flags, index, heddle.Forward{MAC: e.mac, Dst: e.addr}, e.state)
	for kind, v := range e.aside {
		r.AddData(nl.NewRtAttr(int(kind), v))
	}
	return r
}

// leads reports whether an entry of a tunnel leads to its end at dst, for good.
func (e entry) leads(dst netip.Addr) bool { return e.addr == dst && e.permanent() && e.aside == nil }

// neighbours lists the tables of both families.
func (s *site) neighbours() ([]entry, error) {
	return list(s.rt, func() *nl.NetlinkRequest {
		return request(unix.RTM_GETNEIGH, 0, &netlink.Ndmsg{})
	}, func(b []byte) (entry, bool) {
		e, ok := decodeEntry(b)
		return e, ok && b[0] != unix.AF_BRIDGE && e.addr.IsValid()
	})
}

// forwards lists the static entries of all bridges, and those of tunnels. A bridge
// keeps one for each of its VLANs beside the one that was asked for; those are
// left out.
func (s *site) forwards() ([]entry, error) {
	return list(s.rt, func() *nl.NetlinkRequest {
		return request(unix.RTM_GETNEIGH, 0, &netlink.Ndmsg{Family: unix.AF_BRIDGE})
	}, func(b []byte) (entry, bool) {
		e, ok := decodeEntry(b)
		return e, ok && (e.self && e.addr.IsValid() || e.static() && !e.vlan && !e.self)
	})
}
