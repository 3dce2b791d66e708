package names

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
)

// ForwardFile is a file beside those of the networks, with a list of Forward.
const ForwardFile = "forward"

// The most domains that are forwarded, and name servers of one.
const maxForwards, maxForwardServers = 64, 6

// Forward is a domain whose names are asked of name servers of its own.
type Forward struct {
	// Domain is in small letters, without a dot at its end.
	Domain  string           `json:"domain"`
	Servers []netip.AddrPort `json:"servers"`
}

// ParseForwards reads texts of the form DOMAIN=ADDR,…, where an address may have a port.
func ParseForwards(texts []string) ([]Forward, error) {
	var all []Forward
	for _, text := range texts {
		bad := func(cause string) error {
			return heddle.Errorf(heddle.BadArgument, "forward names", heddle.Clip(text), cause, "give DOMAIN=ADDRESS,…, such as corp.example=10.0.0.53")
		}
		domain, list, _ := strings.Cut(text, "=")
		f := Forward{Domain: strings.TrimSuffix(strings.ToLower(domain), ".")}
		switch {
		case !valid(f.Domain, heddle.MaxName):
			return nil, bad("the domain is malformed")
		case f.Domain == Domain || strings.HasSuffix(f.Domain, "."+Domain):
			return nil, bad("names below " + Domain + " are never asked outside")
		case slices.ContainsFunc(all, func(o Forward) bool { return o.Domain == f.Domain }):
			return nil, bad("the domain is there twice")
		}
		for one := range strings.SplitSeq(list, ",") {
			a, err := netip.ParseAddr(one)
			at := netip.AddrPortFrom(a.Unmap(), 53)
			if err != nil {
				at, err = netip.ParseAddrPort(one)
			}
			if err != nil || at.Port() == 0 || at.Addr().IsUnspecified() || at.Addr().IsMulticast() {
				return nil, bad("it names no name server's address")
			}
			f.Servers = append(f.Servers, at)
		}
		if all = append(all, f); len(all) > maxForwards || len(f.Servers) > maxForwardServers {
			return nil, bad("there are more than 64 domains, or more than 6 name servers of one")
		}
	}
	return all, nil
}

// ForwardOf returns the forward of the longest domain that a name, without a dot at its end, is in;
// nil if there is none.
func ForwardOf(all []Forward, name string) (best *Forward) {
	name = strings.ToLower(name)
	for i, f := range all {
		if (name == f.Domain || strings.HasSuffix(name, "."+f.Domain)) && (best == nil || len(f.Domain) > len(best.Domain)) {
			best = &all[i]
		}
	}
	return best
}
