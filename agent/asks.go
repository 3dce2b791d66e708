package agent

import (
	"net/netip"
	"path/filepath"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/resolver/nameservers"
)

// answerAsHost plans an endpoint anew whose container asks the host's name servers: the resolver
// answers in their place. Which name servers these are is decided here, as engines tell their
// containers when these start.
func (a *Agent) answerAsHost(n *network, r *record) (err error) {
	if !r.Request.AsksHost {
		return nil
	}
	r.Endpoint.NameServers = a.nameServersFor(slices.DeleteFunc(a.names.resolvers(n, *r), func(at netip.Addr) bool {
		return !slices.Contains(n.LeasedTo(r.Endpoint).Gateways, at)
	}))
	if len(r.Endpoint.NameServers) == 0 {
		return nil
	}
	elsewhere := a.records.filter(func(o record, _ string) bool {
		return o.Endpoint.NameRoutes && o.Request.Netns == r.Request.Netns && o.Endpoint.ID != r.Endpoint.ID
	})
	r.Endpoint.NameRoutes = len(elsewhere) == 0
	r.Plan, err = n.planFor(a.host.now(), r.Endpoint)
	return err
}

// nameServersFor returns the host's name servers in whose place the resolver can answer at these
// gateways. Left out are those on the loopback interface, link-local IPv6 addresses, and those in a
// network of this host, to which containers may have another way.
func (a *Agent) nameServersFor(gateways []netip.Addr) []netip.Addr {
	if len(gateways) == 0 {
		return nil
	}
	networks := a.networks.copies()
	all := nameservers.Read(filepath.Join(a.rootDir(), nameservers.Conf), filepath.Join(a.rootDir(), nameservers.Uplink))
	return slices.DeleteFunc(all, func(s netip.Addr) bool {
		inside := func(n *network) bool {
			return slices.ContainsFunc(n.Subnets, func(p netip.Prefix) bool { return p.Contains(s) })
		}
		return !s.IsGlobalUnicast() && !isLinkLocal4(s) || !slices.ContainsFunc(gateways, heddle.FamilyOf(s).Has) ||
			slices.ContainsFunc(networks, inside)
	})
}

// isLinkLocal4 reports whether an address is link-local of IPv4, as the name servers of clouds are.
func isLinkLocal4(a netip.Addr) bool { return a.Is4() && a.IsLinkLocalUnicast() }

// unanswered counts the endpoints whose containers ask the host's name servers, and not the resolver
// that there is at their gateway.
func (a *Agent) unanswered() (count int) {
	if a.opt.Resolver == "" {
		return 0
	}
	a.records.each(func(r record, op string) {
		if op == "" && r.Request.AsksHost && len(r.Endpoint.NameServers) == 0 && a.names.answers(r.Endpoint.Network) {
			count++
		}
	})
	return count
}

// withoutAsks returns the record of an endpoint that asks the host's name servers themselves, now that
// no resolver answers in their place.
func withoutAsks(r record) record {
	r.Endpoint.NameServers = nil
	r.Plan.Host.Elements = slices.DeleteFunc(slices.Clone(r.Plan.Host.Elements), firewall.IsAskHost)
	return r
}
