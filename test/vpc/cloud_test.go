// Package vpc_test has VPCs on one hypervisor: agents in namespaces of their own, and the service that plugs their NICs into machines. Agents,
// namespaces, devices and frames are real. In place of QEMU, whose part package nic/qmp and test/machines test, a machine opens the
// TAP devices itself, and is a namespace with a TAP device for each NIC.
package vpc_test

import (
	"context"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/frames"
	"github.com/heddle-network/heddle/nic"
	"github.com/heddle-network/heddle/nic/ports"
	"github.com/heddle-network/heddle/nic/service"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
	"github.com/heddle-network/heddle/vpc"
)

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

// cloud is a hypervisor with VPCs, its service, and machines.
type cloud struct {
	t *testing.T
	// agents has the host's own agent as "".
	agents   map[string]*cell.Agent
	service  *service.Service
	machines map[string]*machine
}

// newCloud starts the agents, and the service with machines that may have NICs on such networks. The caller ends it.
func newCloud(t *testing.T, vpcs []string, networks map[string][]string) *cloud {
	cell.Need(t)
	c := &cloud{t: t, agents: map[string]*cell.Agent{}, machines: map[string]*machine{}}
	config := service.Config{VPCs: map[string]service.VPC{}, Machines: map[string]service.Guest{}}
	of := ports.OfVPCs{}
	for _, name := range append([]string{""}, vpcs...) {
		a := c.start(name)
		of[name] = ports.New(a.Client)
		if name != "" {
			config.VPCs[name] = service.VPC{}
			of[name] = ports.NewVPC(a.Client, name, vpc.Netns(name))
		}
	}
	for name, n := range networks {
		config.Machines[name] = service.Guest{QMP: "/" + name, Networks: n}
		c.machines[name] = &machine{Netns: world.NewNetns(t, name), nics: map[string][2]*os.File{}}
	}
	c.service = service.New(config, of, func(name string) (service.Machine, error) { return c.machines[name], nil }, slog.New(slog.DiscardHandler))
	return c
}

// start starts the agent of a VPC ("": the host's), for the first time or again.
func (c *cloud) start(name string, env ...string) *cell.Agent {
	c.t.Helper()
	old, flags, dir := c.agents[name], []string(nil), ""
	if old != nil {
		dir = old.Dir
	} else {
		dir = c.t.TempDir()
	}
	if name != "" {
		flags = []string{"--vpc", name}
		cell.Must(c.t, os.MkdirAll(filepath.Dir(vpc.RunDir(name)), 0o755))
		if err := os.Symlink(filepath.Join(dir, "run"), vpc.RunDir(name)); err != nil && !os.IsExist(err) {
			c.t.Fatal(err)
		}
	}
	a, err := cell.TryStartWith(c.t, dir, flags, env...)
	cell.Must(c.t, err)
	c.agents[name] = a
	return a
}

// network makes a network of mode bridge on a VPC ("": the host).
func (c *cloud) network(in, name string, subnets ...string) {
	c.t.Helper()
	n := heddle.Network{Name: name, Mode: "bridge"}
	for _, s := range subnets {
		n.Subnets = append(n.Subnets, netip.MustParsePrefix(s))
	}
	_, _, err := c.agents[in].CreateNetwork(context.Background(), n, false)
	cell.Must(c.t, err)
}

// heddle runs a shell script that calls heddle, and returns what it printed.
func (c *cloud) heddle(t *testing.T, script string, args ...any) string {
	t.Helper()
	return cell.Sh(t, "PATH="+filepath.Dir(cell.Build(t, "heddle"))+":$PATH\n"+script, args...)
}

// netns is the namespace of a VPC ("": the host's).
func (c *cloud) netns(in string) world.Netns {
	if in == "" {
		return world.Netns{Name: "host"}
	}
	return world.Netns{Name: in, Path: vpc.Netns(in)}
}

// plug plugs a NIC into a machine by the service, and gives it its addresses, and gateways for these prefixes.
func (c *cloud) plug(name, network string, ips []netip.Addr, by ...string) nic.Card {
	c.t.Helper()
	m := c.machines[name]
	link := "eth" + string(rune('0'+len(m.nics)))
	card, err := c.service.Plug(context.Background(), name, nic.Order{Token: link, Network: network, IPs: ips})
	cell.Must(c.t, err)
	if card.Network != network {
		c.t.Fatalf("the card is %+v", card)
	}
	for _, a := range card.Addrs {
		nodad := ""
		if a.Addr().Is6() {
			nodad = "nodad"
		}
		m.Sh(c.t, "ip address add %s dev %s %s", a, link, nodad)
	}
	for _, to := range by {
		p := netip.MustParsePrefix(to)
		for _, g := range card.Gateways {
			if g.Is4() == p.Addr().Is4() {
				m.Sh(c.t, "ip route add %s via %s", to, g)
			}
		}
	}
	return card
}

// end ends the cloud while its agents run: it takes everything out, and looks that nothing is left.
func (c *cloud) end() {
	ctx := context.Background()
	for name := range c.machines {
		all, err := c.service.List(ctx, name)
		cell.Must(c.t, err)
		for _, card := range all {
			cell.Must(c.t, c.service.Unplug(ctx, name, card.Token))
		}
	}
	for name, a := range c.agents {
		networks, err := a.Networks(ctx)
		cell.Must(c.t, err)
		for _, n := range networks {
			cell.Must(c.t, a.DeleteNetwork(ctx, n.Name))
		}
		a.AuditEmpty(c.t)
		for _, left := range c.netns(name).Traces(c.t) {
			c.t.Errorf("left in VPC %q: %s", name, left)
		}
		a.Stop()
		if name != "" {
			if existed, err := vpc.Delete(ctx, name); err != nil || !existed {
				c.t.Errorf("VPC %s is deleted: %v, %v", name, existed, err)
			}
		}
	}
	if left, err := vpc.List(); err != nil || len(left) > 0 {
		c.t.Errorf("VPCs %v are left, %v", left, err)
	}
}

// machine is a namespace whose NICs are TAP devices, eth0 and following. Frames are copied between each and its port.
type machine struct {
	world.Netns
	mu   sync.Mutex
	nics map[string][2]*os.File
}

func (m *machine) Plug(_ context.Context, id string, mac heddle.MAC, mtu, _ int, _ bool, open func(int) ([]*os.File, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	all, err := open(1)
	if err != nil {
		return err
	}
	own, link := (*os.File)(nil), "eth"+string(rune('0'+len(m.nics)))
	err = m.Do(func() (err error) {
		own, err = frames.NewTAP(link)
		return err
	})
	if err == nil {
		_, err = m.TrySh("ip link set lo up; ip link set %s address %s mtu %d addrgenmode none up", link, mac, mtu)
	}
	if err != nil {
		return err
	}
	m.nics[id] = [2]*os.File{all[0], own}
	go world.Carry(all[0], own)
	go world.Carry(own, all[0])
	return nil
}

func (m *machine) Unplug(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.nics[id] {
		if f != nil {
			f.Close()
		}
	}
	delete(m.nics, id)
	return nil
}

func (m *machine) Plugged(context.Context) (ids []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range m.nics {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, nil
}

func (m *machine) Slots(context.Context) (all, free int, err error) { return 16, 16, nil }
func (m *machine) Queues(context.Context) (int, error)              { return 1, nil }
