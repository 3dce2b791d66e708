package doctor

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/kernel"
)

// Places are where the parts of an installation lie.
type Places struct {
	Socket, RunDir, StateDir string
	// CNIConf holds the runtimes' network configurations, CNIBin the plugins.
	CNIConf, CNIBin string
	// Labs holds a folder for each lab that is up.
	Labs string
}

// Host is the host that is looked at. What several checks need is read once.
type Host struct {
	Places
	Modes []heddle.Mode
	// Version is the caller's own.
	Version string

	status    lazy[heddle.Status]
	networks  lazy[[]heddle.Network]
	endpoints lazy[[]heddle.Endpoint]
	facts     lazy[heddle.HostFacts]
	owned     lazy[kernel.Owned]
	links     lazy[[]link]
	routes    lazy[[]route]
	rules     lazy[[]rule]
	chains    lazy[[]chain]
	legacy    lazy[[]legacyTable]
	processes lazy[[]process]
	agent     lazy[int]
	conflists lazy[[]conflist]
}

// NewHost returns the host of the calling process.
func NewHost(p Places, modes []heddle.Mode, version string) *Host {
	return &Host{Places: p, Modes: modes, Version: version}
}

// Again is the same host with nothing read yet.
func (h *Host) Again() *Host { return NewHost(h.Places, h.Modes, h.Version) }

// lazy is read once, by whoever needs it first.
type lazy[T any] struct {
	once  sync.Once
	value T
	err   error
}

func (l *lazy[T]) get(read func() (T, error)) (T, error) {
	l.once.Do(func() { l.value, l.err = read() })
	return l.value, l.err
}

// patience is how long the agent may take for one answer.
const patience = 2 * time.Second

// ask calls the agent.
func ask[T any](ctx context.Context, h *Host, call func(*client.Client, context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return call(client.New(h.Socket), ctx)
}

// Status is the agent's.
func (h *Host) Status(ctx context.Context) (heddle.Status, error) {
	return h.status.get(func() (heddle.Status, error) { return ask(ctx, h, (*client.Client).Status) })
}

// Networks are those of the host: as the agent knows them, or, while it does not
// answer, as far as the kernel shows them.
func (h *Host) Networks(ctx context.Context) ([]heddle.Network, error) {
	return h.networks.get(func() ([]heddle.Network, error) {
		if _, err := h.Status(ctx); err != nil {
			return h.networksSeen()
		}
		return ask(ctx, h, (*client.Client).Networks)
	})
}

// networksSeen finds networks by what they leave in the kernel: the bridges'
// aliases and addresses, and for all modes the route that makes a subnet's
// unused addresses unreachable (heddle.Floor).
func (h *Host) networksSeen() (all []heddle.Network, err error) {
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

// Endpoints are those of the host, as the agent knows them.
func (h *Host) Endpoints(ctx context.Context) ([]heddle.Endpoint, error) {
	return h.endpoints.get(func() ([]heddle.Endpoint, error) {
		if _, err := h.Status(ctx); err != nil {
			return nil, err
		}
		return ask(ctx, h, (*client.Client).Endpoints)
	})
}

// Facts are what plans are made from: the host's own interfaces, the uplink
// first.
func (h *Host) Facts() (heddle.HostFacts, error) {
	return h.facts.get(func() (f heddle.HostFacts, err error) {
		return f, withKernel(func(k *kernel.Kernel) error { f, err = k.Facts(); return err })
	})
}

// Owned is what the kernel has that bears our mark.
func (h *Host) Owned() (kernel.Owned, error) {
	return h.owned.get(func() (o kernel.Owned, err error) {
		return o, withKernel(func(k *kernel.Kernel) error { o, err = k.Ours(); return err })
	})
}

func withKernel(use func(*kernel.Kernel) error) error {
	k, err := kernel.Open()
	if err != nil {
		return err
	}
	defer k.Close()
	return use(k)
}

// ports are the published ports of all endpoints.
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

// forwarded are the networks for which this host forwards, as their modes plan
// it: others, such as macvlan ones, pass its firewall and settings by.
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
		// one that cannot be planned now has lost its parent
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

// needs reports whether a network has a subnet of the family.
func needs(all []heddle.Network, v4 bool) bool {
	return slices.ContainsFunc(all, func(n heddle.Network) bool { return n.HasFamily(v4) })
}

// subnet is one of a network's, with the network.
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
