package agent

import (
	"context"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/ping"
	"github.com/heddle-network/heddle/policy"
	"github.com/heddle-network/heddle/resolver/nameservers"
)

// pingTarget finds the address that a word means: an IP address, the ID of an endpoint of any host, or a name that the container can resolve.
// Asked is the word, "" if it is the address.
func (a *Agent) pingTarget(ctx context.Context, r record, n *network, pod kernel.Pod, q ping.Request) (to netip.Addr, asked string, err error) {
	const op = "ping"
	families := a.pingFamilies(r, q)
	if len(families) == 0 {
		return to, "", heddle.Errorf(heddle.BadArgument, op, heddle.Clip(q.To), "the container has no address of the IP version that was asked for", "leave -4 or -6 out")
	}
	if to, err = netip.ParseAddr(q.To); err == nil {
		to = to.Unmap()
		switch {
		case to.Zone() != "" || to.Is6() && to.IsLinkLocalUnicast():
			return to, "", heddle.Errorf(heddle.BadAddress, op, to.String(), "a link-local address means another host on each link", "give another address")
		case to.IsMulticast() || to.IsUnspecified() || to == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
			return to, "", heddle.Errorf(heddle.BadAddress, op, to.String(), "it is not the address of one host", "give another address")
		case !q.Wants(heddle.FamilyOf(to)):
			return to, "", heddle.Errorf(heddle.BadArgument, op, to.String(), "it is of another IP version than was asked for", "leave -4 and -6 out")
		}
		return to, "", nil
	}
	if addrs, known := a.addressesOf(q.To); known {
		for _, f := range families {
			if to := heddle.OfFamily(addrs, f); to.IsValid() {
				return to, q.To, nil
			}
		}
		return to, "", heddle.Errorf(heddle.BadArgument, op, q.To, "it has no address of an IP version that the container has, or that was asked for", "name another endpoint")
	}
	to, err = a.resolverFor(r, n, pod).Lookup(ctx, q.To, families)
	return to, q.To, err
}

// pingFamilies are the IP versions that the container has and that are wanted: in the order of the endpoint's addresses, then those of the
// container's other endpoints. Where the agent knows no address, both may be there.
func (a *Agent) pingFamilies(r record, q ping.Request) (all []heddle.Family) {
	for _, one := range append([]record{r}, a.records.inNamespace(r.Inode)...) {
		for _, p := range one.Endpoint.AllAddrs() {
			if f := heddle.FamilyOf(p.Addr()); one.Cookie == r.Cookie && !slices.Contains(all, f) {
				all = append(all, f)
			}
		}
	}
	if len(all) == 0 {
		both := heddle.Families()
		all = both[:]
	}
	return slices.DeleteFunc(all, func(f heddle.Family) bool { return !q.Wants(f) })
}

// addressesOf are the addresses of the endpoint that has the ID, on any host. Of IDs that engines have made, the digits that tables show are enough.
func (a *Agent) addressesOf(word string) (addrs []netip.Addr, known bool) {
	id, err := heddle.ParseEndpointID(word)
	if err != nil {
		return nil, false
	}
	means := func(e heddle.Endpoint) bool {
		short := e.ID.IsMade() && len(id.Container) >= heddle.ShortID && strings.HasPrefix(e.ID.Container, id.Container) && e.ID.IfName == id.IfName
		return e.ID == id || short
	}
	all := slices.DeleteFunc(a.EndpointsEverywhere(), func(e heddle.Endpoint) bool { return !means(e) })
	if len(all) == 0 {
		return nil, false
	}
	for _, p := range all[0].AllAddrs() {
		addrs = append(addrs, p.Addr())
	}
	return addrs, true
}

// resolverFor asks names as the container is told to: at this host's addresses on its networks, or else at the host's name servers.
func (a *Agent) resolverFor(r record, n *network, pod kernel.Pod) ping.Resolver {
	res := ping.Resolver{Search: a.searchDomains(n.Network), Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		return a.kernel.DialPod(ctx, pod, network, address)
	}}
	if a.opt.Resolver != "" {
		res.Servers = a.names.resolvers(n, r)
		for _, other := range a.records.inNamespace(r.Inode) {
			if on, err := a.networks.ofEndpoint(other.Endpoint); err == nil && other.Cookie == r.Cookie && len(res.Servers) == 0 {
				res.Servers = a.names.resolvers(on, other)
			}
		}
	}
	if len(res.Servers) == 0 {
		res.Servers = nameservers.Upstreams(filepath.Join(a.rootDir(), nameservers.Conf), filepath.Join(a.rootDir(), nameservers.Uplink))
	}
	return res
}

// pingDenied is what the policies say against an echo; "" if nothing.
func (a *Agent) pingDenied(f ping.Facts, to netip.Addr) string {
	dst := to.String()
	if f.End != nil {
		dst = f.End.Endpoint.ID.String()
	}
	answers, err := a.TestPolicies(policy.Question{Src: f.From.Endpoint.ID.String(), Dst: dst, Service: "icmp/echo-request"})
	if err != nil {
		return ""
	}
	for _, one := range answers {
		if heddle.FamilyOf(one.Dst) != heddle.FamilyOf(to) || one.Allowed || len(one.Steps) == 0 {
			continue
		}
		step := one.Steps[len(one.Steps)-1]
		return string(step.Direction) + " of " + step.Endpoint.String() + ": " + step.Why()
	}
	return ""
}
