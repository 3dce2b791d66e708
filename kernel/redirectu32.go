package kernel

import (
	"encoding/binary"
	"net/netip"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// The offsets of the destination in an IP header (RFC 791, RFC 8200).
const destination4, destination6 = 16, 24

// u32Terminal ends the search at this filter. mirredLen is the length of struct tc_mirred, whose
// last fields are the action and the interface (linux/tc_act/tc_mirred.h).
const (
	u32Terminal = 1
	mirredLen   = 28
)

// putU32 makes a filter that compares the words of the destination. Its actions set the packet type
// to "for this host" and redirect the packet to the device's ingress. Without the new packet type
// the packet would be dropped as somebody else's.
func (s *session) putU32(index, to int, p netip.Prefix) error {
	priority, protocol := uint16(heddle.RedirectPriority4), uint16(unix.ETH_P_IP)
	if p.Addr().Is6() {
		priority, protocol = heddle.RedirectPriority6, unix.ETH_P_IPV6
	}
	r := egress(unix.RTM_NEWTFILTER, excl, index, 0, netlink.MakeHandle(priority, nl.Swap16(protocol)))
	r.AddData(nl.NewRtAttr(nl.TCA_KIND, nl.ZeroTerminated(byU32)))
	options := nl.NewRtAttr(nl.TCA_OPTIONS, nil)
	keys := destinationKeys(p)
	options.AddRtAttr(nl.TCA_U32_SEL, (&nl.TcU32Sel{Flags: u32Terminal, Nkeys: uint8(len(keys)), Keys: keys}).Serialize())
	host := uint16(unix.PACKET_HOST)
	edit := netlink.NewSkbEditAction()
	edit.PType, edit.Action = &host, netlink.TC_ACT_PIPE
	mirred := netlink.NewMirredAction(to)
	mirred.MirredAction, mirred.Action = netlink.TCA_INGRESS_REDIR, netlink.TC_ACT_STOLEN
	if err := netlink.EncodeActions(options.AddRtAttr(nl.TCA_U32_ACT, nil), []netlink.Action{edit, mirred}); err != nil {
		return err
	}
	r.AddData(options)
	err := s.rt.execute(r)
	if absent(err) {
		return heddle.Wrap(heddle.NotOnKernel, "make a filter with", "u32, skbedit and mirred", err,
			"load the kernel's modules, if it has them ('modprobe -a cls_u32 act_skbedit act_mirred')")
	}
	return err
}

// destinationKeys returns the comparisons for the words that the prefix covers, in network byte
// order.
func destinationKeys(p netip.Prefix) []nl.TcU32Key {
	at := destination4
	if p.Addr().Is6() {
		at = destination6
	}
	bytes := p.Masked().Addr().AsSlice()
	var keys []nl.TcU32Key
	for i := 0; i < len(bytes); i += 4 {
		bits := min(max(p.Bits()-8*i, 0), 32)
		if bits == 0 && i > 0 {
			break
		}
		mask := binary.BigEndian.AppendUint32(nil, ^uint32(0)<<(32-bits))
		keys = append(keys, nl.TcU32Key{Mask: nl.NativeEndian().Uint32(mask), Val: nl.NativeEndian().Uint32(bytes[i:]), Off: int32(at + i)})
	}
	return keys
}

// decodeU32 reads a filter of ours. Filters of others at this priority do not have this form.
func decodeU32(options attributes, six bool) (r redirectAt, ok bool) {
	raw := options.get(nl.TCA_U32_SEL)
	if len(raw) < nl.SizeofTcU32Sel || len(raw) < nl.SizeofTcU32Sel+int(raw[2])*nl.SizeofTcU32Key {
		return r, false // a hash table
	}
	at, address := destination4, make([]byte, 4)
	if six {
		at, address = destination6, make([]byte, 16)
	}
	bits := 0
	for i, key := range nl.DeserializeTcU32Sel(raw).Keys {
		if int(key.Off) != at+4*i || 4*i >= len(address) {
			return r, false
		}
		nl.NativeEndian().PutUint32(address[4*i:], key.Val)
		for mask := binary.BigEndian.Uint32(binary.NativeEndian.AppendUint32(nil, key.Mask)); mask != 0; mask <<= 1 {
			bits++
		}
	}
	a, _ := netip.AddrFromSlice(address)
	r.prefix, r.by = netip.PrefixFrom(a, bits), byU32
	r.to, ok = intoHost(options.get(nl.TCA_U32_ACT))
	return r, ok && bits > 0
}

// intoHost reports whether the actions end in a redirect to an ingress, and to which interface.
func intoHost(actions []byte) (to int, ok bool) {
	to, way := mirredOf(actions)
	return to, way == netlink.TCA_INGRESS_REDIR
}

// mirredOf is what the first action of mirred does, and with which interface.
func mirredOf(actions []byte) (to int, way netlink.MirredAct) {
	for _, action := range attributes(actions).all() {
		at := attributes(action)
		parms := attributes(at.get(nl.TCA_ACT_OPTIONS)).get(nl.TCA_MIRRED_PARMS)
		if text(at.get(nl.TCA_ACT_KIND)) != "mirred" || len(parms) < mirredLen {
			continue
		}
		act := number(parms[mirredLen-8:])
		return int(number(parms[mirredLen-4:])), netlink.MirredAct(act)
	}
	return 0, 0
}

// dropBareTable deletes the u32 hash table of a priority if it has no filter left. If there are two
// priorities, the kernel keeps both tables (u32_delete in net/sched/cls_u32.c).
func (s *session) dropBareTable(index int, info uint32) error {
	left, err := list(s.rt, func() *nl.NetlinkRequest {
		return egress(unix.RTM_GETTFILTER, 0, index, 0, info)
	}, func(b []byte) (bool, bool) {
		at := after(nl.SizeofTcMsg, b)
		there := len(b) >= nl.SizeofTcMsg && nl.DeserializeTcMsg(b).Info == info
		return true, there && (text(at.get(nl.TCA_KIND)) != byU32 || attributes(at.get(nl.TCA_OPTIONS)).get(nl.TCA_U32_SEL) != nil)
	})
	if err != nil || len(left) > 0 {
		return err
	}
	err = s.rt.execute(egress(unix.RTM_DELTFILTER, 0, index, 0, info))
	if absent(err) {
		return nil
	}
	return err
}
