package kernel

import (
	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// createLink is the message that makes l. For a veth it also makes the far end, in the namespace
// peerNS (nil: the same namespace). A macvlan device is made on the device below.
func createLink(l heddle.Link, far heddle.Link, master int, peerNS *Netns, below lower) *nl.NetlinkRequest {
	if l.Kind == "vxlan" {
		return createTunnel(l, tunnelOf(l.Tunnel), 0)
	}
	r := request(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, nl.NewIfInfomsg(unix.AF_UNSPEC))
	for _, a := range birthAttrs(l) {
		r.AddData(a)
	}
	if master != 0 {
		r.AddData(numberAttr(unix.IFLA_MASTER, uint32(master)))
	}
	info, data := linkInfo(l.Kind)
	if l.Kind == "bridge" {
		data.AddRtAttr(nl.IFLA_BR_MCAST_SNOOPING, []byte{0})
	}
	if l.Kind == "macvlan" || l.Kind == "ipvlan" {
		r.AddData(numberAttr(unix.IFLA_LINK, uint32(below.index)))
		if below.elsewhere {
			r.AddData(numberAttr(unix.IFLA_LINK_NETNSID, uint32(below.nsid)))
		}
		addSubmode(data, l.Kind, submodes[l.SubMode])
	}
	if l.Kind == "veth" {
		addOneQueue(r.AddData)
		peer := data.AddRtAttr(nl.VETH_INFO_PEER|unix.NLA_F_NESTED, nil)
		nl.NewIfInfomsgChild(peer, unix.AF_UNSPEC)
		for _, a := range birthAttrs(far) {
			peer.AddChild(a)
		}
		addOneQueue(func(d nl.NetlinkRequestData) { peer.AddChild(d) })
		if peerNS != nil {
			peer.AddChild(numberAttr(unix.IFLA_NET_NS_FD, uint32(peerNS.fd)))
		}
	}
	r.AddData(info)
	return r
}

// linkInfo is the attribute IFLA_LINKINFO of a device; its settings go into data.
func linkInfo(kind string) (info, data *nl.RtAttr) {
	info = nl.NewRtAttr(unix.IFLA_LINKINFO|unix.NLA_F_NESTED, nil)
	info.AddRtAttr(nl.IFLA_INFO_KIND, nl.NonZeroTerminated(kind))
	return info, info.AddRtAttr(nl.IFLA_INFO_DATA|unix.NLA_F_NESTED, nil)
}

// addOneQueue asks for one queue in each direction, which is what a veth uses. Otherwise the kernel
// makes one for each possible processor, and then waits for an RCU grace period to remove all but
// one again (veth_init_queues).
func addOneQueue(add func(nl.NetlinkRequestData)) {
	add(numberAttr(unix.IFLA_NUM_TX_QUEUES, 1))
	add(numberAttr(unix.IFLA_NUM_RX_QUEUES, 1))
}

// birthAttrs are the attributes that the kernel accepts when it makes a device. It ignores the
// alias until the device exists.
func birthAttrs(l heddle.Link) []*nl.RtAttr {
	all := []*nl.RtAttr{textAttr(unix.IFLA_IFNAME, l.Name)}
	if l.MTU != 0 {
		all = append(all, numberAttr(unix.IFLA_MTU, uint32(birthMTU(l))))
	}
	if mac := l.MAC.Bytes(); mac != nil {
		all = append(all, nl.NewRtAttr(unix.IFLA_ADDRESS, mac))
	}
	if l.Group != 0 {
		all = append(all, numberAttr(unix.IFLA_GROUP, l.Group))
	}
	if l.GSOMax != 0 {
		all = append(all, numberAttr(unix.IFLA_GSO_IPV4_MAX_SIZE, uint32(l.GSOMax)))
	}
	return all
}

// birthMTU is the MTU that a link is created with. A bridge takes the least MTU of its ports, and
// 1500 when the last port has left, unless its MTU was ever changed (BROPT_MTU_SET_BY_USER in
// net/bridge/br_device.c). So it is created with a different MTU, which is changed to the wanted
// one later.
func birthMTU(l heddle.Link) int {
	if l.Kind == "bridge" && l.MTU != 0 {
		return l.MTU + 1
	}
	return l.MTU
}

// changeLink returns the messages that change an existing link from one state to another; none if
// nothing differs. Port switches need a message of their own, since they can be set only on a link
// that is a port already.
func changeLink(index int, from, to linkState) []*nl.NetlinkRequest {
	var all []*nl.NetlinkRequest
	if from.lacksIPv6() && from.mtu != to.mtu { // first: without IPv6 the kernel accepts no IPv6 attributes
		all = append(all, setMTU(index, to.mtu))
		from.mtu = to.mtu
	}
	r := request(unix.RTM_NEWLINK, 0, indexed(index))
	if attrs := changedAttrs(from, to); len(attrs) > 0 {
		for _, a := range attrs {
			r.AddData(a)
		}
		all = append(all, r)
	}
	if to.kind == "bridge" && from.snooping != to.snooping {
		all = append(all, changeSnooping(index, to.snooping))
	}
	if (to.kind == "macvlan" || to.kind == "ipvlan") && from.submode != to.submode {
		all = append(all, changeSubmode(index, to.kind, to.submode))
	}
	if to.kind == "vxlan" && from.tunnel.changeable() != to.tunnel.changeable() {
		all = append(all, changeTunnel(index, from.tunnel, to.tunnel))
	}
	if to.port != nil && to.master != 0 && (from.port == nil || *from.port != *to.port || from.master != to.master) {
		all = append(all, changePort(index, *to.port))
	}
	return all
}

func setMTU(index, mtu int) *nl.NetlinkRequest {
	r := request(unix.RTM_NEWLINK, 0, indexed(index))
	r.AddData(numberAttr(unix.IFLA_MTU, uint32(mtu)))
	return r
}

func indexed(index int) *nl.IfInfomsg {
	head := nl.NewIfInfomsg(unix.AF_UNSPEC)
	head.Index = int32(index)
	return head
}

func changedAttrs(from, to linkState) []*nl.RtAttr {
	var all []*nl.RtAttr
	if from.mtu != to.mtu {
		all = append(all, numberAttr(unix.IFLA_MTU, uint32(to.mtu)))
	}
	if from.mac != to.mac {
		all = append(all, nl.NewRtAttr(unix.IFLA_ADDRESS, to.mac.Bytes()))
	}
	if from.group != to.group {
		all = append(all, numberAttr(unix.IFLA_GROUP, to.group))
	}
	if from.alias != to.alias {
		all = append(all, nl.NewRtAttr(unix.IFLA_IFALIAS, []byte(to.alias)))
	}
	if from.gso != to.gso {
		all = append(all, numberAttr(unix.IFLA_GSO_IPV4_MAX_SIZE, uint32(to.gso)))
	}
	if from.master != to.master {
		all = append(all, numberAttr(unix.IFLA_MASTER, uint32(to.master)))
	}
	if from.noAuto != to.noAuto {
		mode := byte(addrGenEUI64)
		if to.noAuto {
			mode = addrGenNone
		}
		spec := nl.NewRtAttr(unix.IFLA_AF_SPEC|unix.NLA_F_NESTED, nil)
		spec.AddRtAttr(unix.AF_INET6|unix.NLA_F_NESTED, nil).AddRtAttr(addrGenModeAttr, []byte{mode})
		all = append(all, spec)
	}
	return all
}

func changePort(index int, p heddle.BridgePort) *nl.NetlinkRequest {
	r := request(unix.RTM_NEWLINK, 0, indexed(index))
	info := nl.NewRtAttr(unix.IFLA_LINKINFO|unix.NLA_F_NESTED, nil)
	info.AddRtAttr(nl.IFLA_INFO_SLAVE_KIND, nl.NonZeroTerminated("bridge"))
	data := info.AddRtAttr(nl.IFLA_INFO_SLAVE_DATA|unix.NLA_F_NESTED, nil)
	data.AddRtAttr(nl.IFLA_BRPORT_LEARNING, []byte{flag(p.Learning)})
	data.AddRtAttr(nl.IFLA_BRPORT_UNICAST_FLOOD, []byte{flag(p.Flood)})
	data.AddRtAttr(nl.IFLA_BRPORT_MCAST_FLOOD, []byte{flag(p.MulticastFlood)})
	data.AddRtAttr(nl.IFLA_BRPORT_BCAST_FLOOD, []byte{flag(p.BroadcastFlood)})
	data.AddRtAttr(nl.IFLA_BRPORT_MODE, []byte{flag(p.Hairpin)})
	r.AddData(info)
	return r
}

func changeSnooping(index int, on bool) *nl.NetlinkRequest {
	r := request(unix.RTM_NEWLINK, 0, indexed(index))
	info, data := linkInfo("bridge")
	data.AddRtAttr(nl.IFLA_BR_MCAST_SNOOPING, []byte{flag(on)})
	r.AddData(info)
	return r
}

// raiseLink brings a link up or takes it down.
func raiseLink(index int, up bool) *nl.NetlinkRequest {
	head := indexed(index)
	head.Change = unix.IFF_UP
	if up {
		head.Flags = unix.IFF_UP
	}
	return request(unix.RTM_NEWLINK, 0, head)
}

func deleteLink(index int) *nl.NetlinkRequest {
	return request(unix.RTM_DELLINK, 0, indexed(index))
}
