package doctor

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/heddle-network/heddle"
)

func subnetChecks() []Check {
	return []Check{
		{ID: "subnet-address", Title: "No interface of the host has addresses of our networks", Wrong: "An interface of the host has an address of our networks", Severity: Fail, Looks: "the addresses of the host's interfaces (docker0 and VPNs among them) and the networks' subnets",
			Why: "The host sends what is meant for containers to the other interface, or the other way round. heddle refuses such a network; here the address came later.", Remedy: "ip address del ADDRESS dev IF, or create the network anew with another --subnet", look: lookSubnetAddress},
		{ID: "subnet-route", Title: "No route leads our addresses elsewhere", Wrong: "A route leads our addresses elsewhere", Severity: Fail, Looks: "'ip route': foreign routes that lie inside a network's subnet",
			Why: "The longer prefix wins: packets for those containers leave by the route, as VPNs and routing daemons push it.", Remedy: "ip route del PREFIX, or create the network anew with another --subnet", look: lookSubnetRoute},
		{ID: "subnet-behind", Title: "No destination lies behind our networks", Wrong: "A destination lies behind our networks", Severity: Warn, Looks: "'ip route': foreign routes, other than default ones, that contain a network's subnet",
			Why: "Whoever has those addresses at the far end of the VPN or the site's network cannot be reached from this host: the containers' subnet wins.", Remedy: "create the network anew with another --subnet", look: lookSubnetBehind},
		{ID: "subnet-dns", Title: "The name servers do not lie in our networks", Wrong: "A name server lies in our networks", Severity: Warn, Looks: "nameserver lines of /etc/resolv.conf and the networks' subnets",
			Why: "The host asks a container's address instead, and nothing resolves.", Remedy: "create the network anew with another --subnet", look: lookSubnetDNS},
		{ID: "subnet-docker", Title: "Docker does not give out our addresses", Wrong: "Docker gives out our addresses", Severity: Warn, Looks: "bip, fixed-cidr and default-address-pools in /etc/docker/daemon.json, and the networks' subnets",
			Why: "A network that Docker makes later may overlap.", Remedy: "name other pools in /etc/docker/daemon.json, or create the network anew with another --subnet", look: lookSubnetDocker},
		{ID: "subnet-cni", Title: "No other CNI configuration gives out our addresses", Wrong: "Another CNI configuration gives out our addresses", Severity: Warn, Looks: "subnets in the configurations of other plugins in /etc/cni/net.d",
			Why: "Two containers get the same address.", Remedy: "change the subnet in FILE", look: lookSubnetCNI},
		{ID: "pool-fill", Title: "Networks have addresses left", Wrong: "A network has few addresses left", Severity: Warn, Looks: "the free addresses of each network in 'heddle status'",
			Why: "With none left, no container can be attached. From nine tenths on this is told.", Remedy: "heddle gc, or create another network with a larger --subnet", look: lookPoolFill},
		{ID: "rule-band", Title: "No stranger's policy rules stand among ours", Wrong: "A stranger's policy rule stands among ours", Severity: Warn, Looks: fmt.Sprintf("'ip rule': priorities %d to %d without heddle's protocol", heddle.RulePriorityFrom, heddle.RulePriorityTo),
			Why: "Their order with heddle's rules is accidental.", Remedy: "ip rule del priority N", look: lookRuleBand},
	}
}

// overlaps collects evidence: pairs of our subnets and foreign prefixes that clash.
func (h *Host) overlaps(ctx context.Context, others func() ([]foreignPrefix, error), clash func(subnet, foreignPrefix) bool) Finding {
	networks, err := h.Networks(ctx)
	if err != nil {
		return unknown(err)
	}
	all, err := others()
	if err != nil {
		return unknown(err)
	}
	var evidence, remedy []string
	for _, s := range subnets(networks) {
		for _, o := range all {
			if o.prefix.IsValid() && clash(s, o) {
				evidence = append(evidence, fmt.Sprintf("network %s: %s; %s", s.Name, s.prefix, o.source))
				if o.remedy != "" {
					remedy = append(remedy, o.remedy)
				}
			}
		}
	}
	return trouble(evidence, remedy...)
}

// foreignPrefix is a prefix that somebody else uses; source is where it was read.
type foreignPrefix struct {
	prefix         netip.Prefix
	source, remedy string
	link           string
}

func overlap(s subnet, o foreignPrefix) bool { return s.prefix.Overlaps(o.prefix) }

func lookSubnetAddress(ctx context.Context, h *Host) Finding {
	return h.overlaps(ctx, func() (all []foreignPrefix, err error) {
		facts, err := h.Facts()
		for _, l := range facts.Links {
			for _, a := range l.Addrs {
				if !a.Addr().IsLinkLocalUnicast() {
					all = append(all, foreignPrefix{a.Masked(), fmt.Sprintf("ip address show %s: %s", l.Name, a), fmt.Sprintf("ip address del %s dev %s", a, l.Name), l.Name})
				}
			}
		}
		return all, err
	}, func(s subnet, o foreignPrefix) bool { return overlap(s, o) && !h.onParent(s, o) })
}

// onParent reports whether the network uses its parent's subnet on purpose. A direct network's
// parents are all its NICs.
func (h *Host) onParent(s subnet, o foreignPrefix) bool {
	mode, _ := h.mode(s.Mode)
	sharer, may := mode.(heddle.ParentSubnet)
	facts, err := h.Facts()
	if err != nil || !may || !sharer.SharesParentSubnet() || o.prefix.Bits() > s.prefix.Bits() {
		return false
	}
	up, _ := facts.Uplink(s.Network)
	return up.Name == o.link || s.Mode == "direct"
}

// onLAN reports whether the subnet is that of a LAN to which the host is connected.
func (h *Host) onLAN(s subnet) bool {
	facts, _ := h.Facts()
	for _, l := range facts.Links {
		for _, a := range l.Addrs {
			if h.onParent(s, foreignPrefix{prefix: a.Masked(), link: l.Name}) && a.Masked().Overlaps(s.prefix) {
				return true
			}
		}
	}
	return false
}

// foreignRoutes returns the routes that heddle did not make, without default routes (which a
// VPN may write as two halves).
func (h *Host) foreignRoutes(ctx context.Context) (all []foreignPrefix, err error) {
	routes, err := h.Routes(ctx)
	for _, r := range routes {
		if !r.ours() && r.prefix.IsValid() && r.prefix.Bits() > 1 && !isOurName(r.Dev) && !r.prefix.Addr().IsMulticast() {
			all = append(all, foreignPrefix{r.prefix, "ip route: " + r.String(), "ip route del " + r.Dst + " dev " + r.Dev, r.Dev})
		}
	}
	return all, err
}

func lookSubnetRoute(ctx context.Context, h *Host) Finding {
	return h.overlaps(ctx, func() ([]foreignPrefix, error) { return h.foreignRoutes(ctx) }, func(s subnet, o foreignPrefix) bool {
		return overlap(s, o) && o.prefix.Bits() >= s.prefix.Bits() && !h.onParent(s, o)
	})
}

func lookSubnetBehind(ctx context.Context, h *Host) Finding {
	return h.overlaps(ctx, func() ([]foreignPrefix, error) {
		all, err := h.foreignRoutes(ctx)
		for i := range all {
			all[i].remedy = ""
		}
		return all, err
	}, func(s subnet, o foreignPrefix) bool {
		return overlap(s, o) && o.prefix.Bits() < s.prefix.Bits() && !h.onParent(s, o)
	})
}

func lookPoolFill(ctx context.Context, h *Host) Finding {
	st, err := h.Status(ctx)
	if err != nil {
		return unknown(err)
	}
	var read, evidence []string
	for _, n := range st.Networks {
		line := fmt.Sprintf("heddle status: network %s: %s, %d addresses free", n.Name, heddle.Count(n.Endpoints, "endpoint"), n.Free)
		if n.Free >= 0 {
			read = append(read, line)
		}
		if n.Free >= 0 && n.Free*9 <= int64(n.Endpoints) {
			evidence = append(evidence, line)
		}
	}
	if len(evidence) == 0 {
		return fine(read...)
	}
	return trouble(evidence)
}

func lookRuleBand(ctx context.Context, h *Host) Finding {
	rules, err := h.Rules(ctx)
	if err != nil {
		return unknown(err)
	}
	var evidence, remedy []string
	for _, r := range rules {
		if r.Priority >= heddle.RulePriorityFrom && r.Priority <= heddle.RulePriorityTo && r.Protocol != fmt.Sprint(heddle.RouteProtocol) {
			evidence, remedy = append(evidence, "ip rule: "+r.String()), append(remedy, fmt.Sprintf("ip rule del priority %d", r.Priority))
		}
	}
	return trouble(evidence, remedy...)
}
