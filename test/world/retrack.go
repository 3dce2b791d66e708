package world

import (
	"net"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Attributes of translations (linux/netfilter/nfnetlink_conntrack.h).
const (
	ctaNATSource              = 6
	ctaNATV4, ctaNATV6        = 1, 4 // the first address; the last one is the next
	ctaNATProto               = 3
	ctaNATPort                = 1 // the first port; the last one is the next
	halfMinute         uint32 = 30
)

// Retrack has the namespace track a UDP connection again, whose source is translated as
// it was.
func (n Netns) Retrack(t testing.TB, f *netlink.ConntrackFlow) {
	t.Helper()
	family, source, target, translated := uint8(unix.AF_INET), nl.CTA_IP_V4_SRC, nl.CTA_IP_V4_DST, ctaNATV4
	if f.FamilyType == unix.AF_INET6 {
		family, source, target, translated = unix.AF_INET6, nl.CTA_IP_V6_SRC, nl.CTA_IP_V6_DST, ctaNATV6
	}
	nested := func(kind int) *nl.RtAttr { return nl.NewRtAttr(kind|unix.NLA_F_NESTED, nil) }
	tuple := func(kind int, src, dst net.IP, from, to uint16) *nl.RtAttr {
		all := nested(kind)
		ip := all.AddRtAttr(nl.CTA_TUPLE_IP|unix.NLA_F_NESTED, nil)
		ip.AddRtAttr(source, src)
		ip.AddRtAttr(target, dst)
		proto := all.AddRtAttr(nl.CTA_TUPLE_PROTO|unix.NLA_F_NESTED, nil)
		proto.AddRtAttr(nl.CTA_PROTO_NUM, []byte{unix.IPPROTO_UDP})
		proto.AddRtAttr(nl.CTA_PROTO_SRC_PORT, nl.BEUint16Attr(from))
		proto.AddRtAttr(nl.CTA_PROTO_DST_PORT, nl.BEUint16Attr(to))
		return all
	}
	nat := nested(ctaNATSource)
	nat.AddRtAttr(translated, f.Reverse.DstIP)
	nat.AddRtAttr(translated+1, f.Reverse.DstIP)
	ports := nat.AddRtAttr(ctaNATProto|unix.NLA_F_NESTED, nil)
	ports.AddRtAttr(ctaNATPort, nl.BEUint16Attr(f.Reverse.DstPort))
	ports.AddRtAttr(ctaNATPort+1, nl.BEUint16Attr(f.Reverse.DstPort))
	err := n.Do(func() error {
		r := nl.NewNetlinkRequest(unix.NFNL_SUBSYS_CTNETLINK<<8|nl.IPCTNL_MSG_CT_NEW, unix.NLM_F_CREATE|unix.NLM_F_EXCL|unix.NLM_F_ACK)
		r.AddData(&nl.Nfgenmsg{NfgenFamily: family, Version: nl.NFNETLINK_V0})
		a, b := f.Forward, f.Reverse
		r.AddData(tuple(nl.CTA_TUPLE_ORIG, a.SrcIP, a.DstIP, a.SrcPort, a.DstPort))
		r.AddData(tuple(nl.CTA_TUPLE_REPLY, b.SrcIP, a.SrcIP, b.SrcPort, a.SrcPort))
		r.AddData(nat)
		r.AddData(nl.NewRtAttr(nl.CTA_TIMEOUT, nl.BEUint32Attr(halfMinute)))
		_, err := r.Execute(unix.NETLINK_NETFILTER, 0)
		return err
	})
	if err != nil {
		t.Fatalf("track %s again: %v", f, err)
	}
}
