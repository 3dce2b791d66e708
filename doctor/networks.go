package doctor

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
)

// Networks returns the host's networks: from the agent, or, if it does not answer, as far as
// the kernel shows them.
func (h *Host) Networks(ctx context.Context) ([]heddle.Network, error) {
	return h.networks.get(func() ([]heddle.Network, error) {
		if _, err := h.Status(ctx); err != nil {
			return h.networksInKernel()
		}
		return ask(ctx, h, (*client.Client).Networks)
	})
}

// networksInKernel finds networks by their objects in the kernel: the bridges' aliases and
// addresses, and for all modes the route that makes a subnet's unused addresses unreachable
// (parts.Floor).
func (h *Host) networksInKernel() (all []heddle.Network, err error) {
	owned, err := h.Owned()
	if err != nil {
		return nil, err
	}
	var floors []netip.Prefix
	for _, r := range owned.State.Routes {
		if r.Type == "unreachable" {
			floors = append(floors, r.Dst)
		}
	}
	for _, l := range owned.State.Links {
		n := heddle.Network{Mode: "bridge", MTU: l.MTU}
		if _, err := fmt.Sscanf(l.Alias, heddle.Mark+" network=%s id=%s", &n.Name, &n.ID); err != nil || l.Name != n.BridgeName(0) {
			continue
		}
		addrs, _ := interfaceAddrs(l.Name)
		on := func(s netip.Prefix) bool { return slices.ContainsFunc(addrs, s.Contains) }
		for _, s := range floors {
			if on(s) {
				n.Subnets = append(n.Subnets, s)
			}
		}
		floors = slices.DeleteFunc(floors, on)
		all = append(all, n)
	}
	for _, s := range floors {
		all = append(all, heddle.Network{Name: "of " + s.String(), Mode: "routed", Subnets: []netip.Prefix{s}})
	}
	return all, nil
}

func interfaceAddrs(name string) (all []netip.Addr, err error) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return nil, err
	}
	addrs, err := i.Addrs()
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			all = append(all, p.Addr())
		}
	}
	return all, err
}

// ports returns the published ports of all endpoints.
func (h *Host) ports(ctx context.Context) (all []published, err error) {
	endpoints, err := h.Endpoints(ctx)
	for _, e := range endpoints {
		for _, p := range e.Ports {
			all = append(all, published{e.ID.String(), p})
		}
	}
	return all, err
}

type published struct {
	endpoint string
	heddle.PortMapping
}

// forwarded returns the networks for which this host forwards, according to their modes' plans.
// The traffic of others, such as macvlan networks, does not pass the host's firewall.
func (h *Host) forwarded(ctx context.Context) (some []heddle.Network, err error) {
	all, err := h.Networks(ctx)
	if err != nil {
		return nil, err
	}
	facts, err := h.Facts()
	if err != nil {
		return nil, err
	}
	for _, n := range all {
		mode, known := h.mode(n.Mode)
		if !known {
			continue
		}
		plan, err := mode.Network(facts, n)
		forwards := func(c heddle.Sysctl) bool { return c.Name == forward4 || c.Name == forward6 }
		// a network that cannot be planned has lost its parent
		if err != nil || slices.ContainsFunc(plan.Host.Sysctls, forwards) {
			some = append(some, n)
		}
	}
	return some, nil
}

const forward4, forward6 = "net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"

func (h *Host) mode(name string) (heddle.Mode, bool) {
	i := slices.IndexFunc(h.Modes, func(m heddle.Mode) bool { return m.Name() == name })
	if i < 0 {
		return nil, false
	}
	return h.Modes[i], true
}

// anyHasFamily reports whether a network has a subnet of the family.
func anyHasFamily(all []heddle.Network, f heddle.Family) bool {
	return slices.ContainsFunc(all, func(n heddle.Network) bool { return n.HasFamily(f) })
}

// subnet is a subnet with its network.
type subnet struct {
	heddle.Network
	prefix netip.Prefix
}

func subnets(all []heddle.Network) (some []subnet) {
	for _, n := range all {
		for _, p := range n.Subnets {
			some = append(some, subnet{n, p})
		}
	}
	return some
}
