package kernel

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// ForgetFlows deletes the connection tracking entries of an endpoint's published ports. The kernel
// decides once for each flow where a port leads. A UDP client that goes on sending from one source
// port would stay with a container that is gone, or with the host if it began before the port was
// published. A connection that left the host by the port would still be answered there. Flows that
// would be sent to the same destination today stay: published reports whether the host's port leads
// to the container's port at an address. HostIP of the mapping that it gets is not set. Flows to the
// same port of another machine stay as well: a masqueraded one would end.
//
// All connections of the host are read, which takes a second for a million.
func (k *Kernel) ForgetFlows(e heddle.Endpoint, published func(p heddle.PortMapping, to netip.Addr) bool) error {
	if len(e.Ports) == 0 {
		return nil
	}
	return k.forgetFlows(e.ID.String(), flowsOf{e, published, k.hostsOwn()})
}

// ForgetShadows deletes the entries of connections that have left the host by one of the ports.
// A packet that matches such an entry would reach that connection, not the socket that listens
// at the port.
func (k *Kernel) ForgetShadows(at []heddle.Socket) error {
	return k.forgetFlows("the host's ports", shadowsOf(at))
}

// ForgetPrefixes deletes the entries of connections with an end in one of the prefixes. The end
// belongs to the longest prefix that it is in: what is in a longer one of those that stay, stays.
func (k *Kernel) ForgetPrefixes(of, stay []netip.Prefix) error {
	if len(of) == 0 {
		return nil
	}
	return k.forgetFlows(of[0].String(), endsIn{of, stay})
}

// hostsOwn returns a function that reports whether an address is the host's own. The function asks
// the kernel once for each address. An address for which there is no route is not the host's.
func (k *Kernel) hostsOwn() func(netip.Addr) bool {
	known := map[netip.Addr]bool{}
	return func(a netip.Addr) bool {
		own, asked := known[a]
		if !asked {
			own, _ = k.listRt.isLocal(a, 0)
			known[a] = own
		}
		return own
	}
}

// forgetFlows reads the connections of both families at once, as the kernel walks through the whole table for
// each dump (ForgetAddresses).
func (k *Kernel) forgetFlows(whose string, which netlink.CustomConntrackFilter) error {
	err := k.home.Do(func() error {
		c, err := dial(unix.NETLINK_NETFILTER)
		if err != nil {
			return err
		}
		defer c.close()
		if n, err := c.tracked(); err == nil && n == 0 {
			return nil
		}
		return c.forgetSome(ctRequest(nl.IPCTNL_MSG_CT_GET, unix.NLM_F_DUMP, unix.AF_UNSPEC), func(at attributes) bool {
			return which.MatchConntrackFlow(&netlink.ConntrackFlow{Forward: tupleOf(at.get(nl.CTA_TUPLE_ORIG)), Reverse: tupleOf(at.get(nl.CTA_TUPLE_REPLY))})
		})
	})
	if err != nil {
		return heddle.Wrap(heddle.KernelRefused, "forget connections of", whose, err, "give the agent CAP_NET_ADMIN, or delete them with 'conntrack -D' ('conntrack -L' shows them)")
	}
	return nil
}

// tupleOf reads one direction of a connection. Its addresses last as long as the attributes.
func tupleOf(tuple attributes) (t netlink.IPTuple) {
	ip, proto := attributes(tuple.get(nl.CTA_TUPLE_IP)), attributes(tuple.get(nl.CTA_TUPLE_PROTO))
	if t.SrcIP, t.DstIP = ip.get(nl.CTA_IP_V4_SRC), ip.get(nl.CTA_IP_V4_DST); t.SrcIP == nil {
		t.SrcIP, t.DstIP = ip.get(nl.CTA_IP_V6_SRC), ip.get(nl.CTA_IP_V6_DST)
	}
	if number := proto.get(nl.CTA_PROTO_NUM); len(number) == 1 {
		t.Protocol = number[0]
	}
	t.SrcPort, t.DstPort = portIn(proto.get(nl.CTA_PROTO_SRC_PORT)), portIn(proto.get(nl.CTA_PROTO_DST_PORT))
	return t
}

// portIn is 0 if the protocol has no ports.
func portIn(b []byte) uint16 {
	if len(b) != 2 {
		return 0
	}
	return binary.BigEndian.Uint16(b)
}

// flowsOf matches three kinds of flows: those that are translated to the endpoint and would not be
// today, those that go to its published ports of the host without translation, and those that left
// the host by these ports.
type flowsOf struct {
	heddle.Endpoint
	published func(p heddle.PortMapping, to netip.Addr) bool
	hostsOwn  func(netip.Addr) bool
}

// MatchConntrackFlow implements netlink.CustomConntrackFilter.
func (e flowsOf) MatchConntrackFlow(f *netlink.ConntrackFlow) bool {
	answers, _ := netip.AddrFromSlice(f.Reverse.SrcIP)
	asked, _ := netip.AddrFromSlice(f.Forward.DstIP)
	protocol := protocolOf(f)
	if slices.ContainsFunc(e.Addrs, func(a netip.Prefix) bool { return a.Addr() == answers.Unmap() }) && answers != asked {
		return !e.published(heddle.PortMapping{HostPort: f.Forward.DstPort, ContainerPort: f.Reverse.SrcPort, Protocol: protocol}, answers.Unmap())
	}
	return slices.ContainsFunc(e.Ports, func(p heddle.PortMapping) bool {
		toHost := p.Protocol == protocol && p.HostPort == f.Forward.DstPort && answers == asked && p.IsAt(asked.Unmap()) && e.hostsOwn(asked.Unmap())
		return toHost || leftBy(f, heddle.Socket{Protocol: p.Protocol, Port: p.HostPort})
	})
}

// shadowsOf matches the flows that left the host by one of the ports.
type shadowsOf []heddle.Socket

// MatchConntrackFlow implements netlink.CustomConntrackFilter.
func (s shadowsOf) MatchConntrackFlow(f *netlink.ConntrackFlow) bool {
	return slices.ContainsFunc(s, func(at heddle.Socket) bool { return leftBy(f, at) })
}

// leftBy reports whether the source of a flow is translated to the port.
func leftBy(f *netlink.ConntrackFlow, at heddle.Socket) bool {
	asks, _ := netip.AddrFromSlice(f.Forward.SrcIP)
	answered, _ := netip.AddrFromSlice(f.Reverse.DstIP)
	return asks != answered && f.Reverse.DstPort == at.Port && protocolOf(f) == at.Protocol
}

func protocolOf(f *netlink.ConntrackFlow) string {
	return heddle.ProtocolName(int(f.Forward.Protocol))
}

// endsIn matches the flows with an end in one of the prefixes, and in no longer one of those that stay.
type endsIn struct{ of, stay []netip.Prefix }

// MatchConntrackFlow implements netlink.CustomConntrackFilter.
func (e endsIn) MatchConntrackFlow(f *netlink.ConntrackFlow) bool {
	return slices.ContainsFunc([][]byte{f.Forward.SrcIP, f.Forward.DstIP, f.Reverse.SrcIP, f.Reverse.DstIP}, func(end []byte) bool {
		a, _ := netip.AddrFromSlice(end)
		a = a.Unmap()
		return longest(e.of, a) > longest(e.stay, a)
	})
}

// longest is the length of the longest of the prefixes that an address is in; -1 if it is in none.
func longest(among []netip.Prefix, a netip.Addr) int {
	bits := -1
	for _, p := range among {
		if p.Contains(a) {
			bits = max(bits, p.Bits())
		}
	}
	return bits
}
