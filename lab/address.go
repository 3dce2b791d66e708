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
	hostOffset   = 10 // the first host is number 11
	maxHosts     = 999 - hostOffset
)

func hostName(i int) string { return fmt.Sprintf("host%d", i+1) }

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

// addresses returns the address with that number in each of the switch's subnets. Without a
// router, the switch's own addresses are the hosts' default gateways. They lead nowhere, but
// a host without a default route would be unusual.
func (sw *Switch) addresses(number int) (all []netip.Prefix) {
	for _, p := range sw.Subnets {
		all = append(all, netip.PrefixFrom(address(p, number), p.Bits()))
	}
	return all
}

// ofFamily returns the first address of the family, or the zero value.
func ofFamily(all []netip.Prefix, f heddle.Family) netip.Addr {
	for _, p := range all {
		if f.Has(p.Addr()) {
			return p.Addr()
		}
	}
	return netip.Addr{}
}

// macOf returns the MAC of a host's eth0 (side 0) or of the switch's port (side 1), and so
// on for further NICs. Two runs of a test see the same addresses.
func macOf(number, side int) net.HardwareAddr {
	return net.HardwareAddr{0x02, 0x68, 0x6c, byte(side), byte(number >> 8), byte(number)}
}
