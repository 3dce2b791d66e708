package routed

import (
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/mode/parts"
)

// Parents that are plugged in: each container has a further address of a NIC, and what it sends to the outside leaves by that NIC.
//
//	container          host                                NIC, with its first address
//	eth0 A/32 ═══ veth ═══ hd… (gateway: the NIC's first address)   eth1 ── the provider's network
//
//	from SUBNET lookup main     by interfaces of ours alone: containers are found by their host routes
//	from A      lookup TABLE    the NIC's subnet, default via its gateway
//
// On the NIC the host answers neighbours for A, as a cloud does by itself and a hypervisor's bridge does not.

// nearPriority is the priority of the rules that find containers of this host.
const nearPriority = fromPriority - 1

// RoutesOnParents is true: the host routes for the containers.
func (Mode) RoutesOnParents() bool { return true }

// checkPlug refuses what does not go with parents that are plugged in.
func checkPlug(n heddle.Network) error {
	if err := parts.CheckPlug(n); err != nil || n.Options[parts.Plug.Name] == "" {
		return err
	}
	refuse := func(option, why, remedy string) error {
		return parts.BadOption(n, option+"="+heddle.Clip(n.Options[option]), why, remedy)
	}
	switch {
	case n.Internal:
		return heddle.Errorf(heddle.BadOption, "create network", n.Name, "it is internal, and NICs are plugged in for what leaves it", "leave --internal out, or --opt plug")
	case masquerades(n):
		return refuse(parts.Hide.Name, "its containers have addresses of the provider's network, and leave with them", "leave it out")
	case n.Options["table"] != "" || n.Options["next-hop"] != "":
		return refuse("plug", "each NIC that is plugged in gets a routing table and a next hop by itself", "leave --opt table and --opt next-hop out")
	case n.Options[parts.Engines.Name] == "true":
		return refuse(parts.Engines.Name, "what its containers send leaves by their NIC, and does not come to other engines' containers", "leave it out")
	}
	return nil
}

// nearRules keep on the host what the containers send to containers. Nothing else is found by them: other interfaces are in group 0.
func nearRules(n heddle.Network) (all []heddle.Rule) {
	for _, s := range n.Subnets {
		all = append(all, heddle.Rule{Priority: nearPriority, From: s, Table: mainTable, OnlyGrouped: true})
	}
	return all
}

// onPlugged is what endpoints on a NIC share. n is the network as they have it.
func onPlugged(n heddle.Network, on heddle.ParentNIC) heddle.State {
	s := heddle.State{Links: []heddle.Link{{Name: on.Name}}, Sysctls: sysctls(n, on.Name), Elements: append(firewall.NICElements(on.Name), firewall.Gates(n, n.Gateways...)...)}
	if n.HasFamily(heddle.IPv6) { // neighbours answer the NIC at its link-local address; the switch lets no other pass than that of the MAC address
		s.Addresses = append(s.Addresses, heddle.Address{Link: on.Name, Prefix: netip.PrefixFrom(on.MAC.LinkLocal(), 64)})
		s.Elements = append(s.Elements, firewall.Gates(n, on.MAC.LinkLocal())...)
	}
	table := on.Routed.Table
	for _, a := range on.Routed.Addrs {
		f := heddle.FamilyOf(a.Addr())
		s.Addresses = append(s.Addresses, heddle.Address{Link: on.Name, Prefix: heddle.Single(a.Addr())})
		s.Routes = append(s.Routes, heddle.Route{Dst: a.Masked(), Link: on.Name, Table: table})
		for _, c := range on.Closed {
			if f.Has(c.Addr()) {
				s.Routes = append(s.Routes, heddle.Route{Dst: c, Type: "unreachable", Table: table})
			}
		}
		if g := heddle.OfFamily(on.Gateways, f); g.IsValid() {
			s.Routes = append(s.Routes, heddle.Route{Dst: f.Any(), Link: on.Name, Via: g, OnLink: true, Table: table})
		}
		// without a gateway, or while the NIC is down, nothing leaves by the host's own default route
		s.Routes = append(s.Routes, heddle.Route{Dst: f.Any(), Type: "unreachable", Metric: 4294967295, Table: table})
		s.Rules = append(s.Rules, heddle.Rule{Priority: fromPriority, From: heddle.Single(a.Addr()), Table: table})
	}
	return s
}

// sysctls make the host answer on the NIC for its address there and for those of the containers, at once, and for nothing else; and take no address, route or
// redirect from that network.
func sysctls(n heddle.Network, nic string) []heddle.Sysctl {
	var all []heddle.Sysctl
	set := func(family, folder string, values ...string) {
		for i := 0; i < len(values); i += 2 {
			all = append(all, heddle.Sysctl{Name: "net/" + family + "/" + folder + "/" + nic + "/" + values[i], Value: values[i+1]})
		}
	}
	if n.HasFamily(heddle.IPv4) {
		set("ipv4", "conf", "arp_ignore", "1", "arp_announce", "2", "proxy_arp", "0", "proxy_arp_pvlan", "0", "accept_redirects", "0")
		set("ipv4", "neigh", "proxy_delay", "0")
	}
	if !n.HasFamily(heddle.IPv6) {
		set("ipv6", "conf", "disable_ipv6", "1")
		return all
	}
	// the kernel makes no link-local address of its own (addr_gen_mode 1)
	set("ipv6", "conf", "disable_ipv6", "0", "addr_gen_mode", "1", "accept_ra", "0", "accept_redirects", "0", "accept_dad", "0", "proxy_ndp", "1")
	set("ipv6", "neigh", "proxy_delay", "0")
	// questions that come to a container's address alone are answered instead of forwarded (ip6_forward) by this setting only
	return append(all, heddle.Sysctl{Name: "net/ipv6/conf/all/proxy_ndp", Value: "1"})
}

// ways are an endpoint's own: what it sends leaves by its NIC, where the host answers for its addresses.
func ways(e heddle.Endpoint) (s heddle.State) {
	for _, a := range addresses(e) {
		s.Rules = append(s.Rules, heddle.Rule{Priority: fromPriority, From: heddle.Single(a), Table: e.Parent.Routed.Table})
		s.Proxies = append(s.Proxies, heddle.Proxy{Link: e.Parent.Name, Addr: a})
	}
	return s
}

func addresses(e heddle.Endpoint) (all []netip.Addr) {
	for _, p := range e.Addrs {
		all = append(all, p.Addr())
	}
	return slices.Clip(all)
}
