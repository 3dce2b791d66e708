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
// (linux/netfilter/nfnetlink_conntrack.h). The flags are internal to the kernel
// (net/netfilter/nf_conntrack_netlink.c).
const (
	ctaZone              = 18
	ctaFilter            = 25
	ctaFilterOrigFlags   = 1
	ctaFilterReplyFlags  = 2
	ctGetStats           = 5 // IPCTNL_MSG_CT_GET_STATS
	ctaStatsEntries      = 1 // CTA_STATS_GLOBAL_ENTRIES
	filterBySource       = 1 << 0
	filteredDumpsAtMost  = 8
	forgottenInOneDialog = 128
	fewTracked           = 10_000
)

// ForgetAddresses deletes the host's conntrack entries from and to the addresses, of every
// protocol. Otherwise a reply to the former holder of an address would be sent to the next one. A
// container's address is the source of a connection's original or reply direction, whatever NAT
// translates. Zones other than 0 belong to others.
//
// For each dump the kernel walks through the whole table of the machine, which takes 10 ms for a
// quarter of a million buckets, however few connections are in it. So nothing is dumped if nothing
// is tracked. If few connections are tracked, or there are many addresses, all connections are read
// at once, which takes a second for a million. Otherwise the kernel filters by each address.
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
		tracked, err := c.tracked()
		if err != nil {
			return err
		}
		return c.forget(addrs, tracked)
	})
	if err != nil {
		return heddle.Wrap(heddle.KernelRefused, "forget connections of", addrs[0].String(), err, "give the agent CAP_NET_ADMIN and the kernel the module nf_conntrack_netlink ('conntrack -L' shows the connections)")
	}
	return nil
}

// tracked is the number of connections in the namespace. It is not zero if the kernel does not say.
func (c *conn) tracked() (n uint32, err error) {
	n = fewTracked
	_, err = c.exchange(func(_ uint16, b []byte) {
		if entries := after(nl.SizeofNfgenmsg, b).get(ctaStatsEntries); len(entries) == 4 {
			n = binary.BigEndian.Uint32(entries)
		}
	}, ctRequest(ctGetStats, unix.NLM_F_ACK, unix.AF_UNSPEC))
	return n, err
}

// forget deletes the connections of the addresses; tracked is the number of all connections.
func (c *conn) forget(addrs []netip.Addr, tracked uint32) error {
	of := map[netip.Addr]bool{}
	var dumps []*nl.NetlinkRequest
	for _, a := range addrs {
		of[a] = true
		dumps = append(dumps, dumpFrom(a, nl.CTA_TUPLE_ORIG), dumpFrom(a, nl.CTA_TUPLE_REPLY))
	}
	switch {
	case tracked == 0:
		return nil
	case tracked <= fewTracked || len(addrs) > filteredDumpsAtMost:
		dumps = []*nl.NetlinkRequest{ctRequest(nl.IPCTNL_MSG_CT_GET, unix.NLM_F_DUMP, unix.AF_UNSPEC)}
	}
	for _, d := range dumps {
		err := c.forgetSome(d, func(at attributes) bool {
			return at.get(ctaZone) == nil && (of[tupleSource(at.get(nl.CTA_TUPLE_ORIG))] || of[tupleSource(at.get(nl.CTA_TUPLE_REPLY))])
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// forgetSome deletes those of a dump's connections that which selects. A connection that has ended
// meanwhile is no error.
func (c *conn) forgetSome(dump *nl.NetlinkRequest, which func(connection attributes) bool) error {
	var gone []*nl.NetlinkRequest
	_, err := c.exchange(func(_ uint16, b []byte) {
		at := after(nl.SizeofNfgenmsg, b)
		if !which(at) {
			return
		}
		r := ctRequest(nl.IPCTNL_MSG_CT_DELETE, unix.NLM_F_ACK, familyOf(tupleSource(at.get(nl.CTA_TUPLE_ORIG))))
		r.AddData(nl.NewRtAttr(nl.CTA_TUPLE_ORIG|unix.NLA_F_NESTED, slices.Clone(at.get(nl.CTA_TUPLE_ORIG))))
		r.AddData(nl.NewRtAttr(nl.CTA_ID, slices.Clone(at.get(nl.CTA_ID))))
		if zone := at.get(ctaZone); zone != nil {
			r.AddData(nl.NewRtAttr(ctaZone, slices.Clone(zone)))
		}
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

// ctRequest is a request about the connections of an address family; AF_UNSPEC means all.
func ctRequest(kind, flags, family int) *nl.NetlinkRequest {
	r := nl.NewNetlinkRequest(unix.NFNL_SUBSYS_CTNETLINK<<8|kind, flags)
	r.AddData(&nl.Nfgenmsg{NfgenFamily: uint8(family), Version: nl.NFNETLINK_V0})
	return r
}

// dumpFrom requests the connections whose original or reply packets come from the address.
func dumpFrom(a netip.Addr, tuple int) *nl.NetlinkRequest {
	r := ctRequest(nl.IPCTNL_MSG_CT_GET, unix.NLM_F_DUMP, familyOf(a))
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
	ip := attributes(attributes(tuple).get(nl.CTA_TUPLE_IP))
	source := ip.get(nl.CTA_IP_V4_SRC)
	if source == nil {
		source = ip.get(nl.CTA_IP_V6_SRC)
	}
	a, _ := netip.AddrFromSlice(source)
	return a
}
