package kernel

import (
	"net"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// linkState is the state of an interface in the kernel.
type linkState struct {
	// queue is the queueing discipline; "noop" drops all packets.
	queue string
	index int
	name  string
	kind  string
	alias string
	mtu   int
	mac   heddle.MAC
	// permanent is the hardware's permanent MAC address, if the kernel reports one.
	permanent heddle.MAC
	group     uint32
	master    int
	// peer is the index of the far end, or of the interface below. If elsewhere is set, that
	// interface is in the namespace with the number nsid (IFLA_LINK_NETNSID).
	peer      int
	elsewhere bool
	nsid      int
	// bus and device say where the driver found the hardware ("virtio", "virtio3").
	bus, device string
	up          bool
	// gso is the size of the largest IPv4 segment; 0 on kernels that do not report it.
	gso int
	// noIPv6 says that IPv6 is disabled on the interface (disable_ipv6).
	noIPv6 bool
	// noAuto says that the kernel makes no link-local address.
	noAuto bool
	// port holds the switches of a bridge port.
	port *heddle.BridgePort
	// snooping is a bridge's mcast_snooping.
	snooping bool
	// submode is the sub-mode of a macvlan or ipvlan device.
	submode uint32
	// portName distinguishes the ports of one device, such as a switch (IFLA_PHYS_PORT_NAME).
	portName string
	// vlan and protocol are the tag of a VLAN device; the protocol of others is 0.
	vlan, protocol uint16
	// tunnel is the state of a VXLAN device's tunnel.
	tunnel tunnelState
}

// ours reports whether the link bears our mark. A link of ours has its group from the moment it is
// made, and its alias one message later. If the agent is killed between the two, it still
// recognises the link by name and group. A macvlan or ipvlan device in a container has the name
// that the container wants.
func (l linkState) ours() bool {
	return heddle.IsOurs(l.alias) || l.alias == "" && (prefixed(l.name) || l.kind == "macvlan" || l.kind == "ipvlan") && l.group&^0xffffff == heddle.GroupBase
}

func prefixed(name string) bool {
	if len(name) < 2 {
		return false
	}
	switch name[:2] {
	case heddle.PrefixBridge, heddle.PrefixPort, heddle.PrefixTrunk, heddle.PrefixShim, heddle.PrefixTunnel, heddle.PrefixHand, heddle.PrefixSlave, heddle.PrefixPeering:
		return true
	}
	return false
}

// ifla_inet6 and in6_addr_gen_mode are from linux/if_link.h. The position of disable_ipv6 in the
// settings is DEVCONF_DISABLE_IPV6 of linux/ipv6.h.
const (
	inet6ConfAttr   = 2
	disableIPv6     = 26
	addrGenModeAttr = 8
	addrGenEUI64    = 0
	addrGenNone     = 1
)

// skipStats leaves 400 bytes of counters out of each answer
// (RTEXT_FILTER_SKIP_STATS).
const skipStats = 1 << 3

func linkQuery() *nl.NetlinkRequest {
	r := request(unix.RTM_GETLINK, 0, nl.NewIfInfomsg(unix.AF_UNSPEC))
	r.AddData(numberAttr(unix.IFLA_EXT_MASK, skipStats))
	return r
}

// link reads one interface; a missing one gives nil.
func (s *session) link(name string) (*linkState, error) {
	req := linkQuery()
	req.AddData(textAttr(unix.IFLA_IFNAME, name))
	l, err := one(s.rt, req, decodeLink)
	if l != nil {
		s.index[l.name] = l.index
	}
	return l, err
}

// linkAt reads the interface with an index; a missing one gives nil.
func (s *session) linkAt(index int) (*linkState, error) {
	return s.linkIn(index, nil)
}

// linkIn is linkAt in the namespace that this one knows by the number nsid; nil means this
// namespace.
func (s *session) linkIn(index int, nsid *int) (*linkState, error) {
	req := request(unix.RTM_GETLINK, 0, indexed(index))
	req.AddData(numberAttr(unix.IFLA_EXT_MASK, skipStats))
	if nsid != nil {
		req.AddData(numberAttr(unix.IFLA_TARGET_NETNSID, uint32(*nsid)))
	}
	return one(s.rt, req, decodeLink)
}

func (s *session) links() ([]linkState, error) { return list(s.rt, linkQuery, decodeLink) }

// listedLinks is links, read once in a call, as it costs much (linkNames).
func (s *session) listedLinks() (all []linkState, err error) {
	if s.listed == nil {
		s.listed, err = s.links()
	}
	return s.listed, err
}

func decodeLink(b []byte) (linkState, bool) {
	if len(b) < unix.SizeofIfInfomsg {
		return linkState{}, false
	}
	head := nl.DeserializeIfInfomsg(b)
	at := attributes(b[unix.SizeofIfInfomsg:])
	l := linkState{
		index: int(head.Index), up: head.Flags&unix.IFF_UP != 0,
		name: text(at.get(unix.IFLA_IFNAME)), alias: text(at.get(unix.IFLA_IFALIAS)),
		mtu: int(number(at.get(unix.IFLA_MTU))), group: number(at.get(unix.IFLA_GROUP)),
		master: int(number(at.get(unix.IFLA_MASTER))), peer: int(number(at.get(unix.IFLA_LINK))),
	}
	if b := at.get(unix.IFLA_LINK_NETNSID); len(b) >= 4 {
		l.elsewhere, l.nsid = true, int(int32(number(b)))
	}
	l.bus, l.device = text(at.get(unix.IFLA_PARENT_DEV_BUS_NAME)), text(at.get(unix.IFLA_PARENT_DEV_NAME))
	l.portName = text(at.get(unix.IFLA_PHYS_PORT_NAME))
	l.queue = queueOf(at)
	l.gso = int(number(at.get(unix.IFLA_GSO_IPV4_MAX_SIZE)))
	if mac := at.get(unix.IFLA_ADDRESS); len(mac) == 6 {
		l.mac = heddle.MAC(net.HardwareAddr(mac).String())
	}
	if mac := at.get(unix.IFLA_PERM_ADDRESS); len(mac) == 6 {
		l.permanent = heddle.MAC(net.HardwareAddr(mac).String())
	}
	inet6 := attributes(attributes(at.get(unix.IFLA_AF_SPEC)).get(unix.AF_INET6))
	if settings := inet6.get(inet6ConfAttr); len(settings) >= 4*(disableIPv6+1) {
		l.noIPv6 = number(settings[4*disableIPv6:]) != 0
	}
	l.noAuto = octet(inet6.get(addrGenModeAttr)) == addrGenNone
	info := attributes(at.get(unix.IFLA_LINKINFO))
	l.kind = text(info.get(nl.IFLA_INFO_KIND))
	if l.kind == "bridge" {
		l.snooping = octet(attributes(info.get(nl.IFLA_INFO_DATA)).get(nl.IFLA_BR_MCAST_SNOOPING)) != 0
	}
	if l.kind == "macvlan" {
		l.submode = number(attributes(info.get(nl.IFLA_INFO_DATA)).get(nl.IFLA_MACVLAN_MODE))
	}
	if l.kind == "ipvlan" {
		l.submode = uint32(short(attributes(info.get(nl.IFLA_INFO_DATA)).get(nl.IFLA_IPVLAN_MODE)))
	}
	if l.kind == "vlan" {
		tag := attributes(info.get(nl.IFLA_INFO_DATA))
		l.vlan, l.protocol = short(tag.get(nl.IFLA_VLAN_ID)), short(tag.get(nl.IFLA_VLAN_PROTOCOL))
	}
	if l.kind == "vxlan" {
		l.tunnel = decodeTunnel(attributes(info.get(nl.IFLA_INFO_DATA)))
	}
	if text(info.get(nl.IFLA_INFO_SLAVE_KIND)) == "bridge" {
		l.port = decodePort(attributes(info.get(nl.IFLA_INFO_SLAVE_DATA)))
	}
	return l, true
}

func decodePort(at attributes) *heddle.BridgePort {
	on := func(kind uint16) bool { return octet(at.get(kind)) != 0 }
	return &heddle.BridgePort{
		Learning: on(nl.IFLA_BRPORT_LEARNING), Flood: on(nl.IFLA_BRPORT_UNICAST_FLOOD),
		MulticastFlood: on(nl.IFLA_BRPORT_MCAST_FLOOD), BroadcastFlood: on(nl.IFLA_BRPORT_BCAST_FLOOD),
		Hairpin: on(nl.IFLA_BRPORT_MODE),
	}
}
