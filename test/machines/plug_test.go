package machines_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/nic/qmp"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/docker"
	"github.com/heddle-network/heddle/test/libvirtd"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/vm"
	"github.com/heddle-network/heddle/test/world"
)

// plugged is a hypervisor, a host of namespaces, and two machines that ask it for NICs. Most is done in the first one.
type plugged struct {
	t             *testing.T
	lab           *lab.Lab
	hv, vm, other *docker.Host
	// virt is the libvirtd of which the other machine is a domain; nil if it cannot run here.
	virt *libvirtd.Daemon
	// stop ends the service.
	stop func()
}

const nicConfig = `listen: 172.31.240.11:7950
machines:
  vm1: {qmp: /run/qmp/vm1, networks: [lan, other], nics: 3, addresses: 2}
  vm2: {qmp: /run/qmp/vm2, networks: [lan], nics: 3, rate: 1gbit}
`

// fewSlots is up to how many slots the first machine has an IOMMU: with many slots that was not tried.
const fewSlots = 4

// withoutDocker are arguments of agents in machines, where no dockerd runs: looking for one twice a second takes an emulated processor some work
// as long as the machine lives. agentArgs are all arguments of such an agent.
var (
	withoutDocker = []string{"--docker-host", "none", "--docker-socket", "none"}
	agentArgs     = append([]string{"--nic-grant", "/run/nic.grant"}, withoutDocker...)
)

// raisePlugged raises a machine for each number of slots, one or two.
func raisePlugged(t *testing.T, kernel, config string, slots ...int) *plugged {
	needMachines(t, kernel)
	hosts, cpus := []lab.Node{{Name: "hv"}}, []int{2, 1}
	for i, count := range slots {
		hosts = append(hosts, lab.Node{Name: fmt.Sprint("vm", i+1), Machine: kernel, Slots: count, IOMMU: i == 0 && count <= fewSlots, CPUs: cpus[i], Agent: lab.Agent{Later: true, Args: agentArgs}})
	}
	topology := lab.Topology{Name: "plug", Dir: t.TempDir(), Hosts: hosts}
	p := &plugged{t: t}
	var l *lab.Lab
	if len(slots) == 1 {
		l = raise(t, topology)
	} else if l, p.virt = raiseDomain(t, topology, "hv", "vm2"); p.virt != nil {
		config = strings.Replace(config, "qmp: /run/qmp/vm2", "libvirt: vm2", 1) + "libvirt: " + p.virt.Socket() + "\n"
	}
	p.lab = l
	for i, h := range []**docker.Host{&p.hv, &p.vm, &p.other}[:len(hosts)] {
		*h = &docker.Host{Host: l.Hosts[i], Client: client.New(l.Hosts[i].Socket)}
	}
	p.hv.Heddle(t, "network", "create", "lan", "--mode", "bridge", "--subnet", "10.70.0.0/24", "--subnet", "fd70::/64")
	p.hv.Heddle(t, "network", "create", "other", "--mode", "bridge", "--subnet", "10.71.0.0/24", "--internal")
	p.hv.Run(t, "sh", "-c", "cat >/run/nics.yaml <<'E'\n"+config+"E\n")
	p.serve()
	for _, m := range p.machines() {
		p.hv.Run(t, cell.Build(t, "heddle"), "nic", "grant", "/run/nics.yaml", m.Name(), "--out", "/run/"+m.Name())
		p.startAgent(t, m)
	}
	return p
}

// startAgent starts the agent of a machine that has just booted.
func (p *plugged) startAgent(t *testing.T, m *docker.Host) {
	t.Helper()
	m.Run(t, "sh", "-c", "umask 077; cat >/run/nic.grant <<'E'\n"+p.hv.Run(t, "cat", "/run/"+m.Name())+"\nE\n")
	m.StartAgent(t)
}

// createPlugged makes a network of mode direct whose NICs are plugged in. A machine that has just booted beside much other work may not get through to the
// service in the time of one call.
func createPlugged(t *testing.T, m *docker.Host, name, lan string, options ...string) {
	t.Helper()
	_, err := poll.Until(6*world.Patience, time.Second, func() error {
		if out, err := m.TryHeddle(t, append([]string{"network", "create", name, "--mode", "direct", "--opt", "plug=" + lan}, options...)...); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	cell.Must(t, err)
}

// machines are the one or two machines.
func (p *plugged) machines() []*docker.Host {
	if p.other == nil {
		return []*docker.Host{p.vm}
	}
	return []*docker.Host{p.vm, p.other}
}

// serve starts the service, and waits until it listens.
func (p *plugged) serve() {
	t := p.t // it outlives a part of the test
	ctx, cancel := context.WithCancel(context.Background())
	cmd, err := p.hv.Command(ctx, cell.Build(t, "heddle"), "nic", "serve", "/run/nics.yaml")
	cell.Must(t, err)
	var log strings.Builder
	cmd.Stderr = &log
	cell.Must(t, cmd.Start())
	done := make(chan struct{})
	go func() {
		cmd.Wait()
		close(done)
	}()
	p.stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(func() {
		p.stop()
		if t.Failed() {
			t.Logf("the service:\n%s", log.String())
		}
	})
	world.Soon(t, "the service listens", func() error {
		_, err := p.hv.TryRun("sh", "-c", "ss -Hltn 'sport = :7950' | grep -q 7950")
		return err
	})
}

// attach attaches a namespace in the machine, which it makes, and logs how long the agent took.
func (p *plugged) attach(t *testing.T, name, network string, ips ...netip.Addr) heddle.Endpoint {
	t.Helper()
	p.vm.Run(t, "ip", "netns", "add", name)
	start := time.Now()
	r, err := p.vm.Client.Attach(t.Context(), heddle.AttachRequest{Network: network, ID: heddle.EndpointID{Container: name, IfName: "eth0"},
		Netns: "/run/netns/" + name, IPs: ips})
	cell.Must(t, err)
	t.Logf("%s is attached to %s: %.2f s", name, network, time.Since(start).Seconds())
	if r.Endpoint.NIC == nil || r.Endpoint.NIC.Plugged == nil || len(r.Endpoint.Addrs) == 0 {
		t.Fatalf("the answer is %+v", r)
	}
	return r.Endpoint
}

// ping sends an echo request from a namespace of the machine.
func (p *plugged) ping(name, to string) error {
	out, err := p.vm.TryRun("ip", "netns", "exec", name, "ping", "-n", "-c1", "-W5", to)
	if err != nil {
		return fmt.Errorf("%s does not reach %s: %w: %s", name, to, err, out)
	}
	return nil
}

// nics lists the addresses of the machine's NICs, as the hypervisor has them.
func (p *plugged) nics(t *testing.T) (all []string) {
	t.Helper()
	for _, n := range p.ports(t) {
		all = append(all, n.MAC)
	}
	return all
}

// machinePort is a line of 'heddle nic list'.
type machinePort struct {
	Machine, MAC, Port string
	Endpoint           heddle.EndpointID
}

// ports lists the ports behind NICs.
func (p *plugged) ports(t *testing.T) []machinePort {
	t.Helper()
	var r struct{ Items []machinePort }
	cell.Must(t, json.Unmarshal([]byte(p.hv.Heddle(t, "nic", "list", "-o", "json")), &r))
	return r.Items
}

// devices are the virtio NICs that the machine has anywhere.
func (p *plugged) devices(t *testing.T) int {
	t.Helper()
	return strings.Count(p.vm.Run(t, "ls", "/sys/bus/virtio/drivers/virtio_net"), "virtio")
}

// left waits until the machine has no other NICs than its own. First it asks the hypervisor: in the machine, each question is a program
// that is emulated.
func (p *plugged) left(t *testing.T, own int) {
	t.Helper()
	_, err := poll.Until(3*world.Patience, 50*time.Millisecond, func() error {
		if n := p.nics(t); len(n) > 0 {
			return fmt.Errorf("NICs %v", n)
		}
		return nil
	})
	cell.Must(t, err)
	_, err = poll.Until(world.Patience, 250*time.Millisecond, func() error {
		if n := p.devices(t); n != own {
			return fmt.Errorf("%d devices, %d before", n, own)
		}
		return nil
	})
	cell.Must(t, err)
}

func (p *plugged) clean(t *testing.T) {
	t.Helper()
	world.Soon(t, "no NIC is left", func() error {
		if n := p.nics(t); len(n) > 0 {
			return fmt.Errorf("NICs %v", n)
		}
		return nil
	})
	for _, h := range append(p.machines(), p.hv) {
		h.Heddle(t, "audit")
	}
}

// plugPart is a part of TestPlug. The machine has so many NICs of its own.
type plugPart struct {
	name string
	run  func(t *testing.T, p *plugged, own int)
}

// TestPlug: containers in a machine get NICs that the hypervisor plugs in.
func TestPlug(t *testing.T) {
	kernel := "6.12"
	vm.SkipOther(t, kernel, "6.12")
	p := raisePlugged(t, kernel, nicConfig, 4, 4)
	own := p.devices(t)
	for _, m := range []*docker.Host{p.vm, p.other} {
		createPlugged(t, m, "fast", "lan")
	}
	createPlugged(t, p.vm, "apart", "other")
	p.hv.Run(t, "ip", "netns", "add", "beside")
	p.hv.Heddle(t, "attach", "lan", "--netns", "/run/netns/beside", "--id", "beside", "--ip", "10.70.0.200")
	t.Run("attach", func(t *testing.T) { plugAttach(t, p, own) })
	for turn, parts := range [soak.Turns][]plugPart{
		{{"programs", plugPrograms}, {"queues", plugQueues}, {"handover", plugHandover}, {"killed", plugKilled}, {"away", plugAway}, {"refused", plugRefused}, {"vpc", plugVPC}, {"cloud", plugCloud}, {"ec2", plugEC2}},
		{{"shared", plugShared}, {"routed", plugRouted}, {"libvirt", plugLibvirt}, {"vanished", plugVanished}},
		{{"warm", plugWarm}, {"mended", plugMended}, {"moves", plugMoves}, {"process", plugProcess}, {"cycles", plugCycles}},
	} {
		for _, part := range parts {
			t.Run(part.name, func(t *testing.T) {
				soak.Turn(t, turn)
				part.run(t, p, own)
			})
		}
	}
	p.clean(t)
}

func plugAttach(t *testing.T, p *plugged, own int) {
	start := time.Now()
	e := p.attach(t, "c1", "fast")
	cell.Must(t, p.ping("c1", "10.70.0.1"))
	t.Logf("attached, and answered by its gateway: %.2f s", time.Since(start).Seconds())
	if len(e.Addrs) != 2 || e.MTU != 1500 {
		t.Errorf("the endpoint is %+v", e)
	}
	for _, to := range []string{"fd70::1", "10.70.0.200", "172.31.240.1"} { // the last one through the gateway
		cell.Must(t, p.ping("c1", to))
	}
	p.hv.Run(t, "ip", "netns", "exec", "beside", "ping", "-n", "-c1", "-W5", e.Addrs[0].Addr().String())
	if status := p.vm.Heddle(t, "status"); !strings.Contains(status, "machine vm1") {
		t.Errorf("the status does not tell of the NICs:\n%s", status)
	}
	// a NIC of another network is apart
	p.attach(t, "c2", "apart", netip.MustParseAddr("10.71.0.77"))
	cell.Must(t, p.ping("c2", "10.71.0.77"))
	if p.ping("c2", "10.70.0.200") == nil {
		t.Error("c2 reaches a container of another network of the hypervisor")
	}
	// the port guards: an address of its own choice does not pass
	p.vm.Run(t, "ip", "netns", "exec", "c1", "ip", "address", "add", "10.70.0.201/24", "dev", "eth0")
	if out, err := p.vm.TryRun("ip", "netns", "exec", "c1", "ping", "-n", "-c1", "-W2", "-I", "10.70.0.201", "10.70.0.200"); err == nil {
		t.Errorf("c1 is answered as somebody else: %s", out)
	}
	if got := p.nics(t); len(got) != 2 || p.devices(t) != own+2 {
		t.Errorf("NICs %v, and %d devices, %d before", got, p.devices(t), own)
	}
	start = time.Now()
	p.vm.Heddle(t, "detach", "c1")
	t.Logf("detached: %.2f s", time.Since(start).Seconds())
	p.vm.Run(t, "ip", "netns", "delete", "c2") // the container ends without a word
	p.left(t, own)
	p.vm.Run(t, "ip", "netns", "delete", "c1")
	p.clean(t)
}

// plugKilled: agent and service are killed while containers have NICs.
func plugKilled(t *testing.T, p *plugged, _ int) {
	p.attach(t, "k1", "fast")
	p.vm.KillAgent(t)
	p.stop()
	p.serve()
	cell.Must(t, p.ping("k1", "10.70.0.200"))
	p.vm.StartAgent(t)
	p.vm.Heddle(t, "audit")
	cell.Must(t, p.ping("k1", "10.70.0.200"))
	p.hv.KillAgent(t)
	cell.Must(t, p.ping("k1", "10.70.0.200"))
	p.hv.StartAgent(t)
	p.hv.Heddle(t, "audit")
	p.vm.Heddle(t, "detach", "k1")
	p.vm.Run(t, "ip", "netns", "delete", "k1")
	p.clean(t)
}

// plugAway: what is detached while the service is away is taken out when it is back.
func plugAway(t *testing.T, p *plugged, own int) {
	p.attach(t, "a1", "fast")
	p.stop()
	p.vm.Heddle(t, "detach", "a1")
	p.vm.Run(t, "ip", "netns", "add", "a2")
	out, err := p.vm.TryHeddle(t, "attach", "fast", "--netns", "/run/netns/a2", "--id", "a2")
	if err == nil || !strings.Contains(out, string(heddle.NICServiceDown)) {
		t.Errorf("without the service: %v, %s", err, out)
	}
	p.serve()
	p.left(t, own)
	p.vm.Run(t, "sh", "-c", "ip netns delete a1; ip netns delete a2")
	p.clean(t)
}

func plugRefused(t *testing.T, p *plugged, _ int) {
	p.vm.Run(t, "ip", "netns", "add", "r")
	for _, c := range []struct{ cause, command string }{
		{"may have no NICs on network third", "network create bad --mode direct --opt plug=third"},
		{"leave --subnet", "network create bad --mode direct --opt plug=lan --subnet 10.9.0.0/24 --gateway 10.9.0.1"},
		{"leave --parent", "network create bad --mode direct --opt plug=lan --parent eth0"},
		{"may have no NICs on network third", "network create bad --mode ipvlan --opt plug=third --subnet 10.70.0.0/24"},
		{"no DHCP server can be asked", "network create bad --mode direct --opt plug=lan --opt addresses=dhcp"},
		{"leave --opt addresses out", "network create bad --mode ipvlan --opt plug=lan --opt addresses=dhcp"},
		{"leave --nic out", "attach fast --netns /run/netns/r --id r --nic eth0"},
		{"leave --dry-run out", "attach fast --netns /run/netns/r --id r --dry-run"},
		{"is taken, or is the gateway's", "attach fast --netns /run/netns/r --id r --ip 10.70.0.1"},
	} {
		out, err := p.vm.TryHeddle(t, strings.Fields(c.command)...)
		if err == nil || !strings.Contains(out, c.cause) {
			t.Errorf("%s: %v, %s", c.command, err, out)
		}
	}
	out, err := p.hv.TryHeddle(t, "network", "create", "bad", "--mode", "direct", "--opt", "plug=lan")
	if err == nil || !strings.Contains(out, "--nic-grant") {
		t.Errorf("without a grant: %v, %s", err, out)
	}
	for i := range 3 {
		p.attach(t, fmt.Sprint("n", i), "fast")
	}
	p.vm.Run(t, "ip", "netns", "add", "n3")
	out, err = p.vm.TryHeddle(t, "attach", "fast", "--netns", "/run/netns/n3", "--id", "n3")
	if err == nil || !strings.Contains(out, string(heddle.NoSlot)) {
		t.Errorf("a fourth NIC: %v, %s", err, out)
	}
	for i := range 3 {
		p.vm.Heddle(t, "detach", fmt.Sprint("n", i))
	}
	p.vm.Run(t, "sh", "-c", "for n in n0 n1 n2 n3 r; do ip netns delete $n; done")
	p.clean(t)
}

// plugVanished: a NIC is taken out by the hypervisor, and another one gets its number in the machine. The endpoint still goes.
func plugVanished(t *testing.T, p *plugged, own int) {
	e := p.attach(t, "v1", "fast")
	p.hv.Heddle(t, "detach", p.ports(t)[0].Endpoint.String())
	p.left(t, own)
	out, err := p.vm.TryHeddle(t, "audit")
	if err == nil || !strings.Contains(out, "plugged/"+e.NIC.Plugged.Token) {
		t.Errorf("the audit says: %v, %s", err, out)
	}
	other := p.attach(t, "v2", "fast")
	if other.NIC.Was.Device != e.NIC.Was.Device {
		t.Logf("the second NIC is device %s, the first was %s", other.NIC.Was.Device, e.NIC.Was.Device)
	}
	p.vm.Heddle(t, "detach", "v1")
	cell.Must(t, p.ping("v2", "10.70.0.200"))
	p.vm.Heddle(t, "detach", "v2")
	p.vm.Run(t, "sh", "-c", "ip netns delete v1; ip netns delete v2")
	p.clean(t)
}

// plugMended: a container's NIC is taken out of the machine by QEMU, and its port stays; or it is on the machine's host, as if the agent had
// been killed before it moved it. The agent puts it back. It looks when it starts, and every ten seconds.
func plugMended(t *testing.T, p *plugged, own int) {
	e := p.attach(t, "m1", "fast")
	port := p.ports(t)[0].Port
	for what, take := range map[string]func(){
		"out of the machine": func() {
			p.stop() // QEMU talks to one program at a time
			m, err := qmp.Dial(t.Context(), p.vm.QMP())
			cell.Must(t, err)
			cell.Must(t, m.Unplug(t.Context(), port))
			cell.Must(t, m.Close())
			if n := p.devices(t); n != own {
				t.Errorf("%d devices, %d before", n, own)
			}
			p.serve()
		},
		"on the host": func() {
			p.vm.Run(t, "ip", "netns", "exec", "m1", "sh", "-c", "ip link set eth0 down; ip link set eth0 name lost; ip link set lost netns 1")
		},
		"on the host without a mark": func() { // the agent was killed when it had been plugged in again
			p.vm.Run(t, "ip", "netns", "exec", "m1", "sh", "-c", "ip link set eth0 down; ip link set eth0 name bare; ip link set bare alias ''; ip link set bare netns 1")
		},
	} {
		p.vm.KillAgent(t)
		take()
		if p.ping("m1", "10.70.0.200") == nil {
			t.Errorf("%s: it has the NIC all the same", what)
		}
		p.vm.StartAgent(t)
		start := time.Now()
		world.Within(t, 3*world.Patience, "the container has its NIC again, which was "+what, func() error { return p.ping("m1", "10.70.0.200") })
		t.Logf("%s: answered again after %.1f s", what, time.Since(start).Seconds())
		cell.Must(t, p.ping("m1", "fd70::1"))
		cell.Must(t, p.ping("m1", "172.31.240.1")) // by its default route
		p.vm.Heddle(t, "audit")
	}
	if got := p.nics(t); len(got) != 1 || got[0] != string(e.MAC) {
		t.Errorf("the NICs are %v, and %s was the first", got, e.MAC)
	}
	p.vm.Heddle(t, "detach", "m1")
	p.vm.Run(t, "ip", "netns", "delete", "m1")
	p.clean(t)
}
