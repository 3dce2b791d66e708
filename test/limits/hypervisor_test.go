package limits_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/frames"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/kernel/coexist"
	"github.com/heddle-network/heddle/nic/ports"
	"github.com/heddle-network/heddle/nic/remote"
	"github.com/heddle-network/heddle/nic/service"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
	"github.com/heddle-network/heddle/vpc"
)

// hypervisor has an agent in a namespace of its own, that of VPC red, and the service that plugs its NICs into the test's host, which is the
// machine. Agents, namespaces, devices, frames and requests are real. In place of QEMU, frames are copied between the TAP device of a port and
// one on the host.
type hypervisor struct {
	t     *testing.T
	agent *cell.Agent
	netns world.Netns
	state *service.State
	addr  string
	guest service.Guest
	// stop ends the service.
	stop func()

	mu   sync.Mutex
	made int
	nics map[string][2]*os.File
}

const onRed = "red/lan"

// newHypervisor raises a hypervisor, and a machine that may have NICs on its network lan; its file says of it what change sets.
func newHypervisor(t *testing.T, change func(*service.Guest)) (*hypervisor, *world.World) {
	t.Helper()
	cell.Need(t)
	h := &hypervisor{t: t, netns: world.Netns{Name: "red", Path: vpc.Netns("red")}, guest: service.Guest{QMP: "/vm1", Networks: []string{onRed}}, nics: map[string][2]*os.File{}}
	change(&h.guest)
	dir := t.TempDir()
	cell.Must(t, os.MkdirAll(filepath.Dir(vpc.RunDir("red")), 0o755))
	cell.Must(t, os.Symlink(filepath.Join(dir, "run"), vpc.RunDir("red")))
	h.startAgent(dir)
	t.Cleanup(func() {
		if h.agent.Dead() { // one that was started later ends earlier
			h.startAgent(dir)
		}
		cell.Must(t, h.agent.DeleteNetwork(ctx, "lan"))
		h.agent.AuditEmpty(t)
		h.agent.Stop()
		_, err := vpc.Delete(context.Background(), "red")
		cell.Must(t, err)
	})
	_, _, err := h.agent.CreateNetwork(ctx, heddle.Network{Name: "lan", Mode: "bridge", Subnets: []netip.Prefix{netip.MustParsePrefix("10.80.0.0/24"), netip.MustParsePrefix("fd80::/64")}}, false)
	cell.Must(t, err)
	h.state, err = service.OpenState(t.TempDir())
	cell.Must(t, err)
	h.serve()
	t.Cleanup(func() { h.stop() })
	g, err := h.state.Grant("vm1", h.addr)
	cell.Must(t, err)
	return h, world.New(t, func(o *agent.Options) { o.NICs, o.Machine = remote.New(g), machineKernel })
}

// startAgent starts the agent, for the first time or again.
func (h *hypervisor) startAgent(dir string) {
	h.t.Helper()
	a, err := cell.TryStartWith(h.t, dir, []string{"--vpc", "red"})
	cell.Must(h.t, err)
	h.agent = a
}

// serve starts the service.
func (h *hypervisor) serve() {
	h.t.Helper()
	at := h.addr
	if at == "" {
		at = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", at)
	cell.Must(h.t, err)
	h.addr = l.Addr().String()
	of := ports.OfVPCs{"red": ports.NewVPC(h.agent.Client, "red", h.netns.Path)}
	log := slog.New(slog.DiscardHandler)
	c := service.Config{VPCs: map[string]service.VPC{"red": {}}, Machines: map[string]service.Guest{"vm1": h.guest}}
	s := service.New(c, of, func(string) (service.Machine, error) { return h, nil }, log)
	running, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- service.NewServer(s, h.state, log).Serve(running, l) }()
	h.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			h.t.Error(err)
		}
	})
}

// restart ends the service, and starts it with this configuration of the machine.
func (h *hypervisor) restart(change func(*service.Guest)) {
	h.t.Helper()
	h.stop()
	change(&h.guest)
	h.serve()
}

// ports are the endpoints behind NICs.
func (h *hypervisor) ports() []heddle.Endpoint {
	h.t.Helper()
	all, err := h.agent.EndpointsBy(ctx, []string{"label=" + ports.LabelMachine})
	cell.Must(h.t, err)
	return all
}

// buckets are those of the port behind the machine's one NIC.
func (h *hypervisor) buckets() (in, out counts) {
	h.t.Helper()
	all := h.ports()
	if len(all) != 1 {
		h.t.Fatalf("there are ports %+v", all)
	}
	return bucketIn(h.t, h.netns, all[0].Port), bucketIn(h.t, h.netns, all[0].ID.ShaperName())
}

// has waits until the buckets have these rates; 0 is none.
func (h *hypervisor) has(in, out heddle.Rate) {
	h.t.Helper()
	until(h.t, fmt.Sprintf("rates %s and %s", in, out), func() bool {
		x, y := h.buckets()
		return x.Options.Rate*8 == uint64(in) && y.Options.Rate*8 == uint64(out)
	})
}

// Plug implements service.Machine.
func (h *hypervisor) Plug(_ context.Context, id string, mac heddle.MAC, mtu, _ int, _ bool, open func(int) ([]*os.File, error)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	all, err := open(1)
	if err != nil {
		return err
	}
	h.made++
	name := fmt.Sprint("plug", h.made)
	own, err := frames.NewTAP(name)
	if err != nil {
		return err
	}
	h.nics[id] = [2]*os.File{all[0], own}
	if _, err := cell.TrySh("ip link set %s address %s mtu %d addrgenmode none", name, mac, mtu); err != nil {
		return err
	}
	go world.Carry(all[0], own)
	go world.Carry(own, all[0])
	return nil
}

// Unplug implements service.Machine.
func (h *hypervisor) Unplug(_ context.Context, id string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.nics[id] {
		if f != nil {
			f.Close()
		}
	}
	delete(h.nics, id)
	return nil
}

// Plugged implements service.Machine.
func (h *hypervisor) Plugged(context.Context) (ids []string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range h.nics {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, nil
}

// Slots and Queues implement service.Machine.
func (h *hypervisor) Slots(context.Context) (all, free int, err error) { return 4, 4, nil }
func (h *hypervisor) Queues(context.Context) (int, error)              { return 1, nil }

// virtualNICs has each NIC's MAC address for the permanent one, which TAP devices do not have. There is no driver that would take one anew.
type virtualNICs struct{ *kernel.Kernel }

func (k virtualNICs) Snapshot(name string) (heddle.NIC, error) {
	n, err := k.Kernel.Snapshot(name)
	n.Was.Permanent = n.MAC
	return n, err
}

func (k virtualNICs) RenewNIC(heddle.NIC) error { return nil }

func machineKernel(h agent.Hooks) (m agent.Machine, err error) {
	k, err := kernel.Open()
	if err != nil {
		return m, err
	}
	k.Tripwire, k.Wanted, k.GivenAway, k.Lost = h.Tripwire, h.Wanted, h.GivenAway, h.Lost
	others, err := coexist.Open()
	return agent.Machine{PlanApplier: k, Namespaces: k, LinkEnds: k, HostReader: k, NICs: virtualNICs{k}, LostNICs: k, LAN: k, Connections: k, FastPath: k, Watcher: k, Listener: k,
		Firewalls: others, Listen: func(heddle.PortMapping) error { return nil }, Close: k.Close}, err
}

// bucketIn reads the bucket of a device of a namespace; there is none if its kind is "".
func bucketIn(t *testing.T, in world.Netns, link string) counts {
	t.Helper()
	var all []counts
	out := in.Sh(t, "tc -s -j qdisc show dev %s 2>/dev/null || echo '[]'", link)
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, c := range all {
		if c.Root && c.Kind == "tbf" {
			return c
		}
	}
	return counts{}
}

// measured is how much of its rate a bucket has let pass while somebody offered more, over some time.
func measured(before, after counts, over time.Duration) float64 {
	return float64(after.Bytes-before.Bytes) / float64(before.Options.Rate) / over.Seconds()
}
