package kernel

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// The attributes IFLA_VXLAN_… of linux/if_link.h that package nl does not name.
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
	// low and end are the range of source ports, without end itself; 0 means the range that the
	// host uses for all sockets.
	low, end uint16
	// lower is the device that the tunnel is bound to. remote is the destination of packets that
	// match no entry of its table. Our devices have neither.
	lower  int
	remote netip.Addr
	// csum says that outer UDP packets over IPv4 have a checksum; zeroTx and zeroRx say that those
	// over IPv6 need none (RFC 6935).
	csum, zeroTx, zeroRx bool
	// odd holds the switches that are on, by the numbers of their attributes. Our devices do not
	// ask, do not answer for others, and take no instructions with a packet.
	odd uint64
	changing
}

// changing holds the settings that can be changed on a live device.
type changing struct {
	learning     bool
	ttl, tos, df byte
	// soft says that transmit checksum offload is off.
	soft bool
}

// tunnelOf is the state that a plan wants. The inner packets' checksums suffice: outer checksums
// over IPv4 are not computed, and over IPv6 both sides agree to have none.
func tunnelOf(t *heddle.Tunnel) tunnelState {
	if t == nil {
		return tunnelState{}
	}
	six := t.Local.Is6()
	return tunnelState{vni: t.VNI, local: t.Local, port: t.Port, low: heddle.TunnelSourceLow, end: heddle.TunnelSourceEnd, csum: six, zeroTx: six, zeroRx: six, changing: changing{soft: t.SoftChecksums}}
}

// lasting holds the settings that a device cannot change. The switches for outer checksums of the
// other address family do not matter.
func (t tunnelState) lasting() tunnelState {
	four := t.local.Is4()
	t.csum, t.zeroTx, t.zeroRx = t.csum && four, t.zeroTx && !four, t.zeroRx && !four
	t.changing = changing{}
	t.local = netip.IPv6Unspecified() // it can be changed to another address of the same family
	if four {
		t.local = netip.IPv4Unspecified()
	}
	return t
}

// changeable holds what can be changed on a live device over netlink.
func (t tunnelState) changeable() any {
	t.soft = false
	return [2]any{t.local, t.changing}
}

// createTunnel is the message that makes a device with the given index; 0 means any.
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

// lastingAttrs adds the attributes that only a new device accepts.
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

// liveAttrs adds the attributes that can be changed on a live device.
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

// changeTunnel changes the settings of a live device.
func changeTunnel(index int, from, to tunnelState) *nl.NetlinkRequest {
	r := request(unix.RTM_NEWLINK, 0, indexed(index))
	info, data := linkInfo("vxlan")
	data.AddRtAttr(nl.IFLA_VXLAN_ID, nl.Uint32Attr(to.vni)) // without a VNI the kernel would assume 0
	liveAttrs(data, to)
	if from.df != 0 && to.df == 0 {
		data.AddRtAttr(vxlanDF, []byte{0})
	}
	r.AddData(info)
	return r
}

// decodeTunnel reads IFLA_INFO_DATA of a VXLAN device.
func decodeTunnel(at attributes) tunnelState {
	on := func(kind uint16) bool { return octet(at.get(kind)) != 0 }
	t := tunnelState{
		vni: number(at.get(nl.IFLA_VXLAN_ID)), lower: int(number(at.get(nl.IFLA_VXLAN_LINK))),
		csum: on(nl.IFLA_VXLAN_UDP_CSUM), zeroTx: on(nl.IFLA_VXLAN_UDP_ZERO_CSUM6_TX), zeroRx: on(nl.IFLA_VXLAN_UDP_ZERO_CSUM6_RX),
		changing: changing{learning: on(nl.IFLA_VXLAN_LEARNING), ttl: octet(at.get(nl.IFLA_VXLAN_TTL)), tos: octet(at.get(nl.IFLA_VXLAN_TOS)), df: octet(at.get(vxlanDF))},
	}
	if p := at.get(nl.IFLA_VXLAN_PORT); len(p) == 2 {
		t.port = binary.BigEndian.Uint16(p)
	}
	if p := at.get(nl.IFLA_VXLAN_PORT_RANGE); len(p) == 4 {
		t.low, t.end = binary.BigEndian.Uint16(p), binary.BigEndian.Uint16(p[2:])
	}
	for _, kind := range []uint16{nl.IFLA_VXLAN_LOCAL, nl.IFLA_VXLAN_LOCAL6} {
		if a, ok := netip.AddrFromSlice(at.get(kind)); ok && !a.IsUnspecified() {
			t.local = a
		}
	}
	for _, kind := range []uint16{nl.IFLA_VXLAN_GROUP, nl.IFLA_VXLAN_GROUP6} {
		if a, ok := netip.AddrFromSlice(at.get(kind)); ok && !a.IsUnspecified() {
			t.remote = a
		}
	}
	for kind, bare := range oddSwitches {
		if v := at.get(uint16(kind)); on(uint16(kind)) || bare && v != nil && len(v) == 0 {
			t.odd |= 1 << kind
		}
	}
	return t
}

// oddSwitches are the switches that are off on our devices. The value true says that the attribute
// is a flag: it is present, without a value, if the switch is on.
var oddSwitches = map[int]bool{
	nl.IFLA_VXLAN_PROXY: false, nl.IFLA_VXLAN_RSC: false, nl.IFLA_VXLAN_L2MISS: false, nl.IFLA_VXLAN_L3MISS: false,
	nl.IFLA_VXLAN_FLOWBASED: false, nl.IFLA_VXLAN_GBP: true, nl.IFLA_VXLAN_REMCSUM_NOPARTIAL: true, vxlanGPE: true,
	nl.IFLA_VXLAN_REMCSUM_TX: false, nl.IFLA_VXLAN_REMCSUM_RX: false,
	vxlanTTLInherit: true, vxlanVNIFilter: false,
}

// facts are the settings by name, for a comparison in text form.
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
