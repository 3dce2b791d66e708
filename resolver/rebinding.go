package resolver

import (
	"net"
	"net/netip"
	"slices"

	"github.com/miekg/dns"

	"github.com/heddle-network/heddle/names"
)

// points reports whether a reply from outside points to this host: to the loopback interface or
// into one of its networks. Programs trust such addresses, and nobody outside has a name for them.
func points(r *dns.Msg, t *names.Table) bool {
	for _, rr := range slices.Concat(r.Answer, r.Extra) {
		for _, ip := range addresses(rr) {
			a, ok := netip.AddrFromSlice(ip)
			if a = a.Unmap(); ok && (a.IsLoopback() || t.Inside(a)) {
				return true
			}
		}
	}
	return false
}

// addresses are those that programs would take from a record.
func addresses(rr dns.RR) (all []net.IP) {
	var hints []dns.SVCBKeyValue
	switch rr := rr.(type) {
	case *dns.A:
		return []net.IP{rr.A}
	case *dns.AAAA:
		return []net.IP{rr.AAAA}
	case *dns.SVCB:
		hints = rr.Value
	case *dns.HTTPS:
		hints = rr.Value
	}
	for _, h := range hints {
		switch h := h.(type) {
		case *dns.SVCBIPv4Hint:
			all = append(all, h.Hint...)
		case *dns.SVCBIPv6Hint:
			all = append(all, h.Hint...)
		}
	}
	return all
}
