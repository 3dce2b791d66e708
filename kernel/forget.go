package kernel

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// Attributes of connection tracking that the library does not name
// (linux/netfilter/nfnetlink_conntrack.h, and for the flags, which the kernel keeps
// to itself, net/netfilter/nf_conntrack_netlink.c).
const (
	ctaZone              = 18
	ctaFilter            = 25
	ctaFilterOrigFlags   = 1
	ctaFilterReplyFlags  = 2
	filterBySource       = 1 << 0
	filteredDumpsAtMost  = 8
	forgottenInOneDialog = 128
)

// ForgetAddresses deletes the host's conntrack entries from and to the addresses, of
// every protocol. Otherwise a reply to the former holder of an address would be sent to
// the next one. A container's address is the source of a connection's original or reply
// direction, whatever NAT translates. Zones other than 0 belong to others.
//
// The kernel looks through all its connections for each of a few addresses, and
// hands out only theirs; of many addresses, all connections are read at once, which
// takes a second for a million.
func (k *Kernel) ForgetAddresses(addrs []netip.Addr) error {
	if len(addrs) == 0 {
		return nil
	}
	err := k.home.Do(func() error {
		c, err := dial(unix.NETLINK_NETFILTER)
		if err != nil {
			return err
		}
		defer c.close()
		return c.forget(addrs)
	})
	if err != nil {
		return heddle.Wrap(heddle.KernelRefused, "forget connections of", addrs[0].String(), err, "give the agent CAP_NET_ADMIN and the kernel the module nf_conntrack_netlink ('conntrack -L' shows the connections)")
	}
	return nil
}

func (c *conn) forget(addrs []netip.Addr) error {
	for _, f := range heddle.Families() {
		some := slices.DeleteFunc(slices.Clone(addrs), func(a netip.Addr) bool { return !f.Has(a) })
		of := map[netip.Addr]bool{}
		var dumps []*nl.NetlinkRequest
		for _, a := range some {
			of[a] = true
			dumps = append(dumps, tracked(a, nl.CTA_TUPLE_ORIG), tracked(a, nl.CTA_TUPLE_REPLY))
		}
		if len(some) > filteredDumpsAtMost {
			dumps = []*nl.NetlinkRequest{ctRequest(nl.IPCTNL_MSG_CT_GET, unix.NLM_F_DUMP, f)}
		}
		for _, d := range dumps {
			if err := c.forgetSome(d, of, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgetSome deletes the connections of a dump that belong to the addresses. A
// connection that has ended meanwhile is no error.
func (c *conn) forgetSome(dump *nl.NetlinkRequest, of map[netip.Addr]bool, f heddle.Family) error {
	var gone []*nl.NetlinkRequest
	_, err := c.exchange(func(_ uint16, b []byte) {
		at := after(nl.SizeofNfgenmsg, b)
		if at[ctaZone] != nil || !of[tupleSource(at[nl.CTA_TUPLE_ORIG])] && !of[tupleSource(at[nl.CTA_TUPLE_REPLY])] {
			return
		}
		r := ctRequest(nl.IPCTNL_MSG_CT_DELETE, unix.NLM_F_ACK, f)
		r.AddData(nl.NewRtAttr(nl.CTA_TUPLE_ORIG|unix.NLA_F_NESTED, slices.Clone(at[nl.CTA_TUPLE_ORIG])))
		r.AddData(nl.NewRtAttr(nl.CTA_ID, slices.Clone(at[nl.CTA_ID])))
		gone = append(gone, r)
	}, dump)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(gone, forgottenInOneDialog) {
		if err := c.execute(some...); err != nil && !absent(err) {
			return err
		}
	}
	return nil
}

func ctRequest(kind, flags int, f heddle.Family) *nl.NetlinkRequest {
	family := uint8(unix.AF_INET6)
	if f == heddle.IPv4 {
		family = unix.AF_INET
	}
	r := nl.NewNetlinkRequest(unix.NFNL_SUBSYS_CTNETLINK<<8|kind, flags)
	r.AddData(&nl.Nfgenmsg{NfgenFamily: family, Version: nl.NFNETLINK_V0})
	return r
}

// tracked asks for the connections whose packets, or answers, are from the address.
func tracked(a netip.Addr, tuple int) *nl.NetlinkRequest {
	r := ctRequest(nl.IPCTNL_MSG_CT_GET, unix.NLM_F_DUMP, heddle.FamilyOf(a))
	source, flags := nl.CTA_IP_V4_SRC, ctaFilterOrigFlags
	if a.Is6() {
		source = nl.CTA_IP_V6_SRC
	}
	if tuple == nl.CTA_TUPLE_REPLY {
		flags = ctaFilterReplyFlags
	}
	t := nl.NewRtAttr(tuple|unix.NLA_F_NESTED, nil)
	t.AddRtAttr(nl.CTA_TUPLE_IP|unix.NLA_F_NESTED, nil).AddRtAttr(source, a.AsSlice())
	r.AddData(t)
	f := nl.NewRtAttr(ctaFilter|unix.NLA_F_NESTED, nil)
	f.AddRtAttr(flags, binary.NativeEndian.AppendUint32(nil, filterBySource))
	r.AddData(f)
	return r
}

// tupleSource is the source address of one direction of a connection.
func tupleSource(tuple []byte) netip.Addr {
	ip := attributes(attributes(tuple)[nl.CTA_TUPLE_IP])
	source := ip[nl.CTA_IP_V4_SRC]
	if source == nil {
		source = ip[nl.CTA_IP_V6_SRC]
	}
	a, _ := netip.AddrFromSlice(source)
	return a
}
