package lab

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

const uplink = "eth0" // NICName(0)

// wire makes the switch and plugs every host into it. All of it lives in the
// hosts' namespaces, so all of it dies with them.
func (l *Lab) wire() error {
	sw, err := l.Switch.enter()
	if err != nil {
		return heddle.Wrap(heddle.LabFailed, "enter", SwitchName, err, "")
	}
	defer sw.Close()
	bridge, err := sw.makeBridge(l.Options.addresses(routerNumber))
	if err != nil {
		return heddle.Wrap(heddle.LabFailed, "make the", SwitchName, err, "")
	}
	for i, h := range l.Hosts {
		if err := l.plug(sw, bridge, h, hostOffset+i+1); err != nil {
			return heddle.Wrap(heddle.LabFailed, "wire", h.Name, err, "")
		}
	}
	return nil
}

// stack is a network namespace, entered: the sockets stay in it wherever the
// thread goes.
type stack struct {
	*netlink.Handle
	ns netns.NsHandle
}

func (h *Host) enter() (*stack, error) {
	ns, err := netns.GetFromPath(h.Netns)
	if err != nil {
		return nil, err
	}
	handle, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
	if err != nil {
		ns.Close()
		return nil, err
	}
	return &stack{handle, ns}, nil
}

func (s *stack) Close() {
	s.Handle.Close()
	s.ns.Close()
}

func (s *stack) makeBridge(addrs []netip.Prefix) (netlink.Link, error) {
	noSnooping := false // with nobody who queries, snooping would lose neighbour discovery
	attrs := netlink.NewLinkAttrs()
	attrs.Name = SwitchName
	attrs.HardwareAddr = hardware(0, 1)
	if err := s.LinkAdd(&netlink.Bridge{LinkAttrs: attrs, MulticastSnooping: &noSnooping}); err != nil {
		return nil, err
	}
	if err := s.raise("lo", nil); err != nil {
		return nil, err
	}
	if err := s.raise(SwitchName, addrs); err != nil {
		return nil, err
	}
	return s.LinkByName(SwitchName)
}

// plug joins a host to the switch with a pair: eth0 in the host, and a port
// with the host's name. Spare NICs have ports like "host1-eth1", no address, and
// are down: they are for containers.
func (l *Lab) plug(sw *stack, bridge netlink.Link, h *Host, number int) error {
	in, err := h.enter()
	if err != nil {
		return err
	}
	defer in.Close()
	for i := range 1 + l.Options.NICs {
		if err := l.wireNIC(sw, bridge, in, h, number, i); err != nil {
			return err
		}
	}
	if err := in.raise("lo", nil); err != nil {
		return err
	}
	if err := in.raise(uplink, l.Options.addresses(number)); err != nil {
		return err
	}
	return in.defaultRoutes(l.Options.routers())
}

// NICName is the name of a host's NIC in the host: eth0 is its own, eth1 and so
// on are the spare ones.
func NICName(nic int) string { return fmt.Sprintf("eth%d", nic) }

func portName(host string, nic int) string {
	if nic == 0 {
		return host
	}
	return host + "-" + NICName(nic)
}

// wireNIC makes one wire of a host as the options say.
func (l *Lab) wireNIC(sw *stack, bridge netlink.Link, in *stack, h *Host, number, nic int) error {
	mtu, rate := l.Options.mtu(h.Name), l.Options.rate(h.Name)
	port, name := portName(h.Name, nic), NICName(nic)
	if err := sw.makePair(bridge, in, port, name, mtu, number, nic); err != nil {
		return err
	}
	if l.Options.Cut {
		if err := errors.Join(sw.cut(port), in.cut(name)); err != nil {
			return fmt.Errorf("cut segments at %s: %w", port, err)
		}
	}
	if nic > 0 {
		// A NIC that moves takes no queueing discipline along: the port paces
		// what comes to it, and other ports what it sends.
		return limitPort(sw, port, rate, mtu)
	}
	return limitBoth(sw, in, port, rate, mtu)
}

func (s *stack) makePair(bridge netlink.Link, far *stack, port, name string, mtu, number, nic int) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU, attrs.HardwareAddr = port, mtu, hardware(number, 2*nic+1)
	attrs.MasterIndex = bridge.Attrs().Index
	pair := &netlink.Veth{LinkAttrs: attrs, PeerName: name, PeerMTU: uint32(mtu),
		PeerHardwareAddr: hardware(number, 2*nic), PeerNamespace: netlink.NsFd(far.ns)}
	if err := s.LinkAdd(pair); err != nil {
		return err
	}
	// A port of a switch has no address of its own and asks for no router.
	if err := s.LinkSetIP6AddrGenMode(pair, int(nl6None)); err != nil {
		return err
	}
	return s.LinkSetUp(pair)
}

// nl6None is IN6_ADDR_GEN_MODE_NONE.
const nl6None = 1

// raise sets a link up and gives it its addresses, usable at once.
func (s *stack) raise(name string, addrs []netip.Prefix) error {
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

func (s *stack) defaultRoutes(via []netip.Addr) error {
	link, err := s.LinkByName(uplink)
	if err != nil {
		return err
	}
	for _, gw := range via {
		bits := gw.BitLen()
		all := &net.IPNet{IP: make(net.IP, bits/8), Mask: net.CIDRMask(0, bits)}
		if err := s.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: all, Gw: gw.AsSlice()}); err != nil {
			return fmt.Errorf("default route through %s: %w", gw, err)
		}
	}
	return nil
}

// switchSysctls keep a switch a switch: its frames are not the business of
// iptables, which costs a fifth of the rate.
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
