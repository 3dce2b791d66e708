package lab

import (
	"fmt"
	"net/netip"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lazyregexp"
)

const (
	maxMTU      = 65535 // what a veth carries
	maxNICs     = 99    // each takes two values of one byte of the MAC
	maxSwitches = 15
	maxPort     = 14 // bytes of a port's name; its relay's name has one more
)

var (
	labName  = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`)
	nodeName = lazyregexp.New(`^[a-z][a-z0-9-]{0,13}$`)
)

func checkName(s string) error {
	if !labName.MatchString(s) {
		return refuse("check name of lab", s, "it has other characters or is too long",
			"use 1 to 32 letters, digits, '_', '-', the first a letter or digit")
	}
	return nil
}

// needRoot refuses others than root, who cannot make namespaces and not look into them.
func needRoot(op, object string) error {
	if os.Geteuid() == 0 {
		return nil
	}
	return heddle.Errorf(heddle.NoPermission, op, object, "labs are made of namespaces and mounts, which take root",
		"run the command as root, with sudo for example")
}

func checkHostCount(n int) error {
	if n < 1 || n > maxHosts {
		return refuse("check number of hosts", n,
			fmt.Sprintf("a lab has 1 to %d hosts", maxHosts), "choose a number in that range")
	}
	return nil
}

// checkFrame checks the settings of the whole lab.
func (t Topology) checkFrame() error {
	if err := checkName(t.Name); err != nil {
		return err
	}
	if err := checkHostCount(len(t.Hosts)); err != nil {
		return err
	}
	if len(t.Switches) > maxSwitches {
		return refuse("check number of switches", len(t.Switches),
			fmt.Sprintf("a lab has up to %d", maxSwitches), "leave some out")
	}
	if err := checkMTU(t.MTU); err != nil {
		return err
	}
	if err := checkSysctls(t.Sysctls); err != nil {
		return err
	}
	if err := t.checkManagement(); err != nil {
		return err
	}
	return t.checkUnique()
}

// checkUnique refuses two hosts or switches with the same name.
func (t Topology) checkUnique() error {
	var names []string
	for _, sw := range t.Switches {
		names = append(names, sw.Name)
	}
	for _, n := range t.Hosts {
		names = append(names, n.Name)
	}
	seen := map[string]bool{}
	for _, name := range names {
		if !nodeName.MatchString(name) {
			return refuse("check name of host or switch", name, "it has other characters or is too long",
				"use 1 to 14 small letters, digits, '-', the first a letter")
		}
		if seen[name] {
			return refuse("check name of host or switch", name, "two hosts or switches have it", "give each its own name")
		}
		seen[name] = true
	}
	return nil
}

func (sw *Switch) check() error {
	seen := map[bool]bool{}
	for _, p := range sw.Subnets {
		if !p.IsValid() || p.Addr().Is4In6() || seen[p.Addr().Is4()] {
			return heddle.Errorf(heddle.BadSubnet, "check subnets of switch", sw.Name,
				heddle.List(sw.Subnets)+" are not one of each IP version", "give one IPv4 subnet, one IPv6 subnet, or both")
		}
		seen[p.Addr().Is4()] = true
		if cause, _ := heddle.CheckHostBits(p); cause != "" {
			return heddle.Errorf(heddle.BadSubnet, "check subnets of switch", sw.Name, cause, "give "+p.Masked().String())
		}
	}
	return checkMTU(sw.MTU, sw.Subnets...)
}

func (n *Node) check() error {
	if n.Spare < 0 || len(n.NICs)+n.Spare > maxNICs+1 {
		return refuse("check number of spare NICs", n.Spare,
			fmt.Sprintf("a host has 0 to %d", maxNICs), "choose a number in that range")
	}
	if last := portName(n.Name, len(n.NICs)+n.Spare-1); len(last) > maxPort {
		return refuse("check name of host", n.Name,
			fmt.Sprintf("it is too long: the name of its port %s has more than %d bytes", last, maxPort), "choose a shorter name")
	}
	if err := n.checkSlots(); err != nil {
		return err
	}
	if err := n.checkCPUs(); err != nil {
		return err
	}
	if n.IOMMU && n.Machine == "" {
		return refuse("check IOMMU of", n.Name, "only a virtual machine has one, and this host is made of namespaces", "leave iommu out, or give the host a machine")
	}
	if err := n.checkICount(); err != nil {
		return err
	}
	for _, nic := range n.NICs {
		if err := checkMTU(nic.MTU, nic.Addresses...); err != nil {
			return err
		}
		if err := nic.Rate.Check(); err != nil {
			return err
		}
	}
	for _, d := range n.Daemons {
		if err := d.check(n.Name); err != nil {
			return err
		}
	}
	return checkSysctls(n.Sysctls)
}

// checkNumbers refuses addresses outside of their switch's subnets, and addresses
// that are given twice.
func (t Topology) checkNumbers() error {
	owner := map[netip.Addr]string{}
	for _, sw := range t.Switches {
		for _, p := range sw.addresses(routerNumber) {
			owner[p.Addr()] = sw.Name
		}
	}
	for _, n := range t.Hosts {
		for _, nic := range n.NICs {
			sw := t.findSwitch(nic.Switch)
			for _, p := range nic.Addresses {
				if !sw.holds(p) {
					return heddle.Errorf(heddle.BadSubnet, "check address of "+n.Name, p.String(),
						fmt.Sprintf("it is no host's address in the subnets of switch %s: %s", sw.Name, heddle.List(sw.Subnets)), "choose an address in one of these subnets, with its prefix length")
				}
				if other, taken := owner[p.Addr()]; taken {
					return refuse("check address of "+n.Name, p.Addr(), other+" has it", "choose another address")
				}
				owner[p.Addr()] = n.Name
			}
		}
	}
	return nil
}

// holds reports whether a host may have the address. The last address of an IPv4
// subnet is its broadcast address.
func (sw *Switch) holds(a netip.Prefix) bool {
	for _, p := range sw.Subnets {
		if p.Contains(a.Addr()) && a.Addr() != p.Addr() && a.Bits() == p.Bits() {
			return p.Addr().Is6() || p.Contains(a.Addr().Next())
		}
	}
	return false
}

// checkMTU refuses an MTU that a wire cannot have on which there are such addresses.
func checkMTU(mtu int, on ...netip.Prefix) error {
	least, why := heddle.IPv4.LeastMTU(), ""
	if slices.ContainsFunc(on, func(p netip.Prefix) bool { return p.Addr().Is6() }) {
		least, why = heddle.IPv6.LeastMTU(), " with IPv6"
	}
	if mtu < least || mtu > maxMTU {
		return heddle.Errorf(heddle.BadMTU, "check MTU", fmt.Sprint(mtu),
			fmt.Sprintf("a lab's wire%s takes %d to %d bytes", why, least, maxMTU), "choose an MTU in that range")
	}
	return nil
}

func checkSysctls(set map[string]string) error {
	for key := range set {
		if p := sysctlPath(key); p != path.Clean(p) || !strings.HasPrefix(p, "/proc/sys/net/") {
			return refuse("set sysctl", key, "it is the whole machine's, not one host's", "set only net.… in a lab")
		}
	}
	return nil
}
