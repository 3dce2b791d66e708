package kernel

import (
	"net/netip"
	"os"
	"sync"

	"github.com/heddle-network/heddle"
)

// hasIPv6 reports whether the kernel was started with IPv6; ipv6.disable=1
// leaves it out until the next boot.
var hasIPv6 = sync.OnceValue(func() bool {
	_, err := os.Stat("/proc/sys/net/ipv6/conf")
	return err == nil
})

// withoutIPv6 leaves out what is moot on a kernel without IPv6: the link-local
// addresses of the host's own devices and of their neighbours, which no container
// has asked for. What needs IPv6 is refused by the kernel.
func withoutIPv6(p heddle.Plan) heddle.Plan {
	if !hasIPv6() {
		p.Host = p.Host.Filter(needed)
	}
	return p
}

func needed(o heddle.Object) bool {
	local := func(a netip.Addr) bool { return a.Is6() && a.IsLinkLocalUnicast() }
	switch x := o.(type) {
	case heddle.Address:
		return !local(x.Prefix.Addr())
	case heddle.Neighbour:
		return !local(x.Addr)
	}
	return true
}
