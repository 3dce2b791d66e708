package lab

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/heddle-network/heddle"
)

const (
	routerNumber = 1  // the switch's own address
	hostOffset   = 10 // host1 is number 11
	maxHosts     = 999 - hostOffset
)

func hostName(i int) string { return fmt.Sprintf("host%d", i+1) }

// checkAddresses refuses subnets that are too small for the hosts.
func (o Options) checkAddresses() error {
	if o.Hosts < 1 || o.Hosts > maxHosts {
		return bad("number of hosts", o.Hosts, fmt.Sprintf("a lab has 1 to %d hosts", maxHosts))
	}
	if !o.Subnet4.Addr().Is4() || !o.Subnet6.Addr().Is6() || o.Subnet6.Addr().Is4In6() {
		return heddle.Errorf(heddle.BadSubnet, "lab", o.Subnet4.String()+" "+o.Subnet6.String(), "give one IPv4 and one IPv6 subnet")
	}
	last := hostOffset + o.Hosts
	for _, p := range []netip.Prefix{o.Subnet4, o.Subnet6} {
		// The next number is IPv4's broadcast address at worst.
		if !p.Contains(address(p, last)) || !p.Contains(address(p, last+1)) {
			return heddle.Errorf(heddle.BadSubnet, "lab", p.String(), fmt.Sprintf("%d hosts need numbers up to %d", o.Hosts, last))
		}
	}
	return nil
}

// address returns the numbered address of the subnet. An IPv6 address shows
// the number's decimal digits, so that .11 and ::11 are one host.
func address(p netip.Prefix, number int) netip.Addr {
	base := p.Addr().AsSlice()
	if p.Addr().Is6() {
		digits, _ := strconv.ParseUint(strconv.Itoa(number), 16, 32)
		number = int(digits)
	}
	for i := len(base) - 1; i >= 0 && number > 0; i-- {
		number += int(base[i])
		base[i] = byte(number)
		number >>= 8
	}
	a, _ := netip.AddrFromSlice(base)
	return a
}

func (o Options) addresses(number int) []netip.Prefix {
	return []netip.Prefix{
		netip.PrefixFrom(address(o.Subnet4, number), o.Subnet4.Bits()),
		netip.PrefixFrom(address(o.Subnet6, number), o.Subnet6.Bits()),
	}
}

// routers are the addresses of the switch, the hosts' next hops to anywhere:
// nothing lies behind, but a host without a default route is no usual host.
func (o Options) routers() []netip.Addr {
	return []netip.Addr{address(o.Subnet4, routerNumber), address(o.Subnet6, routerNumber)}
}

// hardware is the MAC of a host's eth0 (side 0) or of its port (side 1), and so
// on for the spare NICs. It is derived, so that two runs of a test see the same addresses.
func hardware(number, side int) net.HardwareAddr {
	return net.HardwareAddr{0x02, 0x68, 0x6c, byte(side), byte(number >> 8), byte(number)}
}
