package lab

import (
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// wire makes the switches and connects every host to them. Everything is in the hosts'
// namespaces, and so ends with them.
func (l *Lab) wire() error {
	switches := map[string]*switchNamespace{}
	for i, h := range l.Switches {
		f, err := l.Topology.Switches[i].make(h)
		if err != nil {
			return heddle.Wrap(heddle.LabFailed, "make switch", h.Name, err, "")
		}
		defer f.Close()
		switches[h.Name] = f
	}
	for i := range l.Topology.Hosts {
		n := &l.Topology.Hosts[i]
		h, err := l.Host(n.Name)
		if err == nil {
			err = l.plug(switches, h, n, hostOffset+i+1)
		}
		if err != nil {
			return heddle.Wrap(heddle.LabFailed, "wire", n.Name, err, "")
		}
	}
	return nil
}

// switchNamespace is the network namespace of a switch, with its bridge.
type switchNamespace struct {
	*namespace
	bridge netlink.Link
}

func (sw *Switch) make(h *Host) (*switchNamespace, error) {
	s, err := h.enter()
	if err != nil {
		return nil, err
	}
	bridge, err := s.makeBridge(sw.Name, sw.addresses(routerNumber))
	if err != nil {
		s.Close()
		return nil, err
	}
	return &switchNamespace{s, bridge}, nil
}

// namespace is an open network namespace with netlink sockets in it, which any thread may use.
type namespace struct {
	*netlink.Handle
	ns netns.NsHandle
}

func (h *Host) enter() (*namespace, error) { return openNamespace(netns.GetFromPath(h.Netns)) }

func openNamespace(ns netns.NsHandle, err error) (*namespace, error) {
	if err != nil {
		return nil, err
	}
	handle, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
	if err != nil {
		ns.Close()
		return nil, err
	}
	return &namespace{handle, ns}, nil
}

func (s *namespace) Close() {
	s.Handle.Close()
	s.ns.Close()
}

func (s *namespace) makeBridge(name string, addrs []netip.Prefix) (netlink.Link, error) {
	noSnooping := false // without a querier, snooping would lose neighbour discovery
	attrs := netlink.NewLinkAttrs()
	attrs.Name = name
	attrs.HardwareAddr = macOf(0, 1)
	if err := s.LinkAdd(&netlink.Bridge{LinkAttrs: attrs, MulticastSnooping: &noSnooping}); err != nil {
		return nil, err
	}
	if err := s.raise("lo", nil); err != nil {
		return nil, err
	}
	if err := s.raise(name, addrs); err != nil {
		return nil, err
	}
	return s.LinkByName(name)
}

func (s *namespace) makePair(bridge netlink.Link, far *namespace, port, name string, mtu, number, nic int) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU, attrs.HardwareAddr = port, mtu, macOf(number, 2*nic+1)
	attrs.MasterIndex = bridge.Attrs().Index
	pair := &netlink.Veth{LinkAttrs: attrs, PeerName: name, PeerMTU: uint32(mtu),
		PeerHardwareAddr: macOf(number, 2*nic), PeerNamespace: netlink.NsFd(far.ns)}
	if err := s.LinkAdd(pair); err != nil {
		return err
	}
	return s.raisePort(pair)
}

// raisePort sets a port of a switch up. It has no address of its own and asks for no router.
// Below 1280 bytes it has no IPv6, and the kernel takes no setting of it.
func (s *namespace) raisePort(port netlink.Link) error {
	if port.Attrs().MTU >= heddle.IPv6.LeastMTU() {
		if err := s.LinkSetIP6AddrGenMode(port, int(nl6None)); err != nil {
			return err
		}
	}
	return s.LinkSetUp(port)
}

// keepIPv6 lets a switch that has an IPv6 address keep it beside a port below 1280 bytes. A
// bridge has the least MTU of its ports, unless its own was ever changed.
func (s *namespace) keepIPv6(sw *Host, port int) error {
	least := heddle.IPv6.LeastMTU()
	if port >= least || !sw.Addr6.IsValid() {
		return nil
	}
	if err := s.setMTU(sw.Name, least+1); err != nil { // the same MTU would be no change
		return err
	}
	return s.setMTU(sw.Name, least)
}

// nl6None is IN6_ADDR_GEN_MODE_NONE.
const nl6None = 1

// raise adds the addresses to a link, usable at once, and sets the link up.
func (s *namespace) raise(name string, addrs []netip.Prefix) error {
	link, err := s.LinkByName(name)
	if err != nil {
		return err
	}
	for _, p := range addrs {
		a := &netlink.Addr{IPNet: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}}
		if p.Addr().Is6() {
			a.Flags = unix.IFA_F_NODAD
		}
		if err := s.AddrAdd(link, a); err != nil {
			return fmt.Errorf("address %s: %w", p, err)
		}
	}
	return s.LinkSetUp(link)
}

func (s *namespace) addRoutes(all []routeSpec) error {
	for _, h := range all {
		link, err := s.LinkByName(NICName(h.NIC))
		if err != nil {
			return err
		}
		dst := &net.IPNet{IP: h.Dst.Addr().AsSlice(), Mask: net.CIDRMask(h.Dst.Bits(), h.Dst.Addr().BitLen())}
		if err := s.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: dst, Gw: h.Via.AsSlice()}); err != nil {
			return fmt.Errorf("route to %s through %s: %w", h.Dst, h.Via, err)
		}
	}
	return nil
}

// switchSysctls keep bridged frames away from iptables, which would cost a fifth of the rate.
func switchSysctls() map[string]string {
	set := map[string]string{}
	for _, family := range []string{"ip", "ip6", "arp"} {
		key := "net.bridge.bridge-nf-call-" + family + "tables"
		if _, err := os.Stat(sysctlPath(key)); err == nil {
			set[key] = "0"
		}
	}
	return set
}
