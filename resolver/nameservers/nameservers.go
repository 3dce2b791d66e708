// Package nameservers reads which name servers the host has: the resolver asks them, and the agent
// has the resolver answer in their place.
package nameservers

import (
	"net/netip"
	"slices"

	"github.com/miekg/dns"
)

// The files that name them: resolv.conf(5), and what systemd-resolved writes beside its stub.
const (
	Conf   = "/etc/resolv.conf"
	Uplink = "/run/systemd/resolve/resolv.conf"
)

// most is how many name servers are used.
const most = 6

// Read returns the name servers that conf names. If all of them are on the loopback interface, it
// returns those of uplink, if one of those is not.
func Read(conf, uplink string) []netip.Addr {
	all := readFile(conf)
	if other := readFile(uplink); !slices.ContainsFunc(all, outside) && slices.ContainsFunc(other, outside) {
		return other
	}
	return all
}

// The addresses of systemd-resolved. At the second one it asks name servers by the domains of the
// host's links, and adds no names of its own, as it does at the first one (systemd-resolved(8)).
var stub, proxy = netip.AddrFrom4([4]byte{127, 0, 0, 53}), netip.AddrFrom4([4]byte{127, 0, 0, 54})

// Upstreams are those to ask for a container: what Read returns, and before them systemd-resolved's
// proxy where conf names its stub.
func Upstreams(conf, uplink string) []netip.Addr {
	all, named := Read(conf, uplink), readFile(conf)
	if slices.Contains(named, stub) && !slices.Equal(all, named) {
		return slices.Concat([]netip.Addr{proxy}, all)
	}
	return all
}

func outside(a netip.Addr) bool { return !a.IsLoopback() }

func readFile(path string) (all []netip.Addr) {
	c, err := dns.ClientConfigFromFile(path)
	if err != nil {
		return nil
	}
	for _, text := range c.Servers {
		a, err := netip.ParseAddr(text)
		if a = a.Unmap(); err == nil && !slices.Contains(all, a) && len(all) < most {
			all = append(all, a)
		}
	}
	return all
}
