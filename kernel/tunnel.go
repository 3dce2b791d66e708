package kernel

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// IFLA_VXLAN_… of linux/if_link.h that package nl does not name.
const (
	vxlanGPE        = 27
	vxlanTTLInherit = 28
	vxlanDF         = 29
	vxlanVNIFilter  = 30
)

// tunnelState is a VXLAN device's settings as the kernel has them.
type tunnelState struct {
	vni   uint32
	local netip.Addr
	port  uint16
	// low and end are the range of source ports, without its end; 0 is the host's for
	// all sockets.
	low, end uint16
	// lower is the device that it is bound to, remote where it sends what no entry
	// of its table names; ours have neither.
	lower  int
	remote netip.Addr
	// csum says that outer UDP packets of IPv4 bear a checksum; zeroTx and zeroRx
	// that those of IPv6 need none (RFC 6935).
	csum, zeroTx, zeroRx bool
	// odd holds the switches that are on, by their attributes' numbers: ours asks
	// nobody, answers for nobody and takes no orders with the packet.
	odd uint64
	changing
}

// changing is what can be changed while the device lives.
type changing struct {
	learning     bool
	ttl, tos, df byte
	// soft says that transmit checksum offload is off.
	soft bool
}

// tunnelOf is what a plan wants: outer checksums are left to the inner packets',
// of IPv4 by not computing them, of IPv6 by both sides' consent.
func tunnelOf(t *heddle.Tunnel) tunnelState {
	if t == nil {
		return tunnelState{}
	}
	six := t.Local.Is6()
	return tunnelState{vni: t.VNI, local: t.Local, port: t.Port, low: heddle.TunnelSourceLow, end: heddle.TunnelSourceEnd, csum: six, zeroTx: six, zeroRx: six, changing: changing{soft: t.SoftChecksums}}
}

// lasting is what a device has for life. Of the switches for outer checksums those
// of the other family do not matter.
func (t tunnelState) lasting() tunnelState {
	four := t.local.Is4()
	t.csum, t.zeroTx, t.zeroRx = t.csum && four, t.zeroTx && !four, t.zeroRx && !four
	t.changing = changing{}
	t.local = netip.IPv6Unspecified() // another of the same family can be given
	if four {
		t.local = netip.IPv4Unspecified()
	}
	return t
}

// changeable is what a device that lives can be given over netlink.
func (t tunnelState) changeable() any {
	t.soft = false
	return [2]any{t.local, t.changing}
}

// createTunnel is the message that makes a device, with a number of its own or any
// (0).
func createTunnel(l heddle.Link, t tunnelState, index int) *nl.NetlinkRequest {
	r := request(unix.RTM_NEWLINK, excl, indexed(index))
	for _, a := range birthAttrs(l) {
		r.AddData(a)
	}
	info, data := linkInfo("vxlan")
	lastingAttrs(data, t)
	liveAttrs(data, t)
	r.AddData(info)
	return r
}

// lastingAttrs are those that only a new device is given.
func lastingAttrs(data *nl.RtAttr, t tunnelState) {
	data.AddRtAttr(nl.IFLA_VXLAN_ID, nl.Uint32Attr(t.vni))
	data.AddRtAttr(nl.IFLA_VXLAN_PORT, binary.BigEndian.AppendUint16(nil, t.port))
	if t.end != 0 {
		data.AddRtAttr(nl.IFLA_VXLAN_PORT_RANGE, binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, t.low), t.end))
	}
	if t.lower != 0 {
		data.AddRtAttr(nl.IFLA_VXLAN_LINK, nl.Uint32Attr(uint32(t.lower)))
	}
	if t.remote.IsValid() {
		kind := nl.IFLA_VXLAN_GROUP
		if t.remote.Is6() {
			kind = nl.IFLA_VXLAN_GROUP6
		}
		data.AddRtAttr(kind, t.remote.AsSlice())
	}
	data.AddRtAttr(nl.IFLA_VXLAN_UDP_CSUM, []byte{flag(t.csum)})
	data.AddRtAttr(nl.IFLA_VXLAN_UDP_ZERO_CSUM6_TX, []byte{flag(t.zeroTx)})
	data.AddRtAttr(nl.IFLA_VXLAN_UDP_ZERO_CSUM6_RX, []byte{flag(t.zeroRx)})
	for kind, bare := range oddSwitches {
		if t.odd&(1<<kind) == 0 {
			continue
		}
		value := []byte{1}
		if bare {
			value = nil
		}
		data.AddRtAttr(kind, value)
	}
}

// liveAttrs are those that can be changed while the device lives.
func liveAttrs(data *nl.RtAttr, t tunnelState) {
	if t.local.IsValid() {
		kind := nl.IFLA_VXLAN_LOCAL
		if t.local.Is6() {
			kind = nl.IFLA_VXLAN_LOCAL6
		}
		data.AddRtAttr(kind, t.local.AsSlice())
	}
	data.AddRtAttr(nl.IFLA_VXLAN_LEARNING, []byte{flag(t.learning)})
	data.AddRtAttr(nl.IFLA_VXLAN_TTL, []byte{t.ttl})
	data.AddRtAttr(nl.IFLA_VXLAN_TOS, []byte{t.tos})
	if t.df != 0 {
		data.AddRtAttr(vxlanDF, []byte{t.df})
	}
}

// changeTunnel turns the settings of a device that lives into others.
func changeTunnel(index int, from, to tunnelState) *nl.NetlinkRequest {
	r := request(unix.RTM_NEWLINK, 0, indexed(index))
	info, data := linkInfo("vxlan")
	data.AddRtAttr(nl.IFLA_VXLAN_ID, nl.Uint32Attr(to.vni)) // without one, the kernel would think of 0
	liveAttrs(data, to)
	if from.df != 0 && to.df == 0 {
		data.AddRtAttr(vxlanDF, []byte{0})
	}
	r.AddData(info)
	return r
}

// decodeTunnel reads IFLA_INFO_DATA of a VXLAN device.
func decodeTunnel(at map[uint16][]byte) tunnelState {
	on := func(kind uint16) bool { return octet(at[kind]) != 0 }
	t := tunnelState{
		vni: number(at[nl.IFLA_VXLAN_ID]), lower: int(number(at[nl.IFLA_VXLAN_LINK])),
		csum: on(nl.IFLA_VXLAN_UDP_CSUM), zeroTx: on(nl.IFLA_VXLAN_UDP_ZERO_CSUM6_TX), zeroRx: on(nl.IFLA_VXLAN_UDP_ZERO_CSUM6_RX),
		changing: changing{learning: on(nl.IFLA_VXLAN_LEARNING), ttl: octet(at[nl.IFLA_VXLAN_TTL]), tos: octet(at[nl.IFLA_VXLAN_TOS]), df: octet(at[vxlanDF])},
	}
	if p := at[nl.IFLA_VXLAN_PORT]; len(p) == 2 {
		t.port = binary.BigEndian.Uint16(p)
	}
	if p := at[nl.IFLA_VXLAN_PORT_RANGE]; len(p) == 4 {
		t.low, t.end = binary.BigEndian.Uint16(p), binary.BigEndian.Uint16(p[2:])
	}
	for _, kind := range []uint16{nl.IFLA_VXLAN_LOCAL, nl.IFLA_VXLAN_LOCAL6} {
		if a, ok := netip.AddrFromSlice(at[kind]); ok && !a.IsUnspecified() {
			t.local = a
		}
	}
	for _, kind := range []uint16{nl.IFLA_VXLAN_GROUP, nl.IFLA_VXLAN_GROUP6} {
		if a, ok := netip.AddrFromSlice(at[kind]); ok && !a.IsUnspecified() {
			t.remote = a
		}
	}
	for kind, bare := range oddSwitches {
		if _, there := at[uint16(kind)]; on(uint16(kind)) || bare && there && len(at[uint16(kind)]) == 0 {
			t.odd |= 1 << kind
		}
	}
	return t
}

// oddSwitches are those that our devices have off; the value says that the
// attribute is there, without a value, where the switch is on.
var oddSwitches = map[int]bool{
	nl.IFLA_VXLAN_PROXY: false, nl.IFLA_VXLAN_RSC: false, nl.IFLA_VXLAN_L2MISS: false, nl.IFLA_VXLAN_L3MISS: false,
	nl.IFLA_VXLAN_FLOWBASED: false, nl.IFLA_VXLAN_GBP: true, nl.IFLA_VXLAN_REMCSUM_NOPARTIAL: true, vxlanGPE: true,
	nl.IFLA_VXLAN_REMCSUM_TX: false, nl.IFLA_VXLAN_REMCSUM_RX: false,
	vxlanTTLInherit: true, vxlanVNIFilter: false,
}

// facts are the settings by name, for a comparison in words.
func (t tunnelState) facts() []string {
	changing := t.changing
	local := t.local
	t = t.lasting()
	return []string{fmt.Sprintf("VNI %d", t.vni), fmt.Sprintf("local %v", local), fmt.Sprintf("port %d", t.port), fmt.Sprintf("source ports from %d to before %d", t.low, t.end),
		fmt.Sprintf("lower device #%d", t.lower), fmt.Sprintf("remote %v", t.remote), fmt.Sprintf("switches %#x", t.odd),
		fmt.Sprintf("outer checksums %v, zero ones sent %v, taken %v", t.csum, t.zeroTx, t.zeroRx),
		fmt.Sprintf("learning %v", changing.learning), fmt.Sprintf("TTL %d", changing.ttl), fmt.Sprintf("TOS %d", changing.tos),
		fmt.Sprintf("DF %d", changing.df), fmt.Sprintf("checksums in software %v", changing.soft)}
}
