package rig

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/lab"
)

// TestRigPorts: no two servers of a lab host share a port, and none wraps.
func TestRigPorts(t *testing.T) {
	for _, o := range []Options{{Pairs: 1}, {Pairs: 10}, {Pairs: 10, Shared: true}} {
		for range 14 {
			o.Modes = append(o.Modes, "m")
		}
		used := map[int]string{}
		for mode := range o.Modes {
			for pair := range o.Pairs {
				for _, far := range []bool{false, true} {
					base, step := o.ports(mode, pair, far)
					for slot := range bench.PortsPerPair {
						port, who := base+slot*step, fmt.Sprint(mode, pair, far)
						if other := used[port]; other != "" || port > 65535 {
							t.Fatalf("%+v: port %d of %s is that of %q", o, port, who, other)
						}
						used[port] = who
					}
				}
			}
		}
	}
	// Servers in one container have consecutive ports.
	o := Options{Pairs: 10, Shared: true}
	first, _ := o.ports(2, 0, true)
	if second, _ := o.ports(2, 1, true); second != first+1 {
		t.Errorf("ports %d and %d", first, second)
	}
	if _, err := New(t.Context(), Options{Modes: []string{"host", "bridge"}, Pairs: 2000}); err == nil || !strings.Contains(err.Error(), "ports") {
		t.Error(err)
	}
}

// TestRigRanges: two hosts on one wire give out different addresses, and not
// those of the hosts.
func TestRigRanges(t *testing.T) {
	s := &testLab{lab: &lab.Lab{Topology: lab.Topology{
		Switches: []lab.Switch{{Subnets: []netip.Prefix{netip.MustParsePrefix("172.31.240.0/24"), netip.MustParsePrefix("fd99:172:31:240::/64")}}},
		Hosts:    []lab.Node{{Spare: 2}}}}}
	r := &Rig{}
	for _, mode := range []string{modeMacvlan, modeDirect} {
		a, b := r.network(s, 3, 0, mode), r.network(s, 3, 1, mode)
		for i := range a.Subnets {
			if a.Subnets[i] != b.Subnets[i] || a.Gateways[i] != b.Gateways[i] || !a.Subnets[i].Contains(a.Gateways[i]) {
				t.Errorf("%s: %+v, %+v", mode, a, b)
			}
			p, q := a.Ranges[i], b.Ranges[i]
			if p.Overlaps(q) || p.Contains(a.Gateways[i]) || p.Masked() != p || !a.Subnets[i].Overlaps(q) {
				t.Errorf("%s: ranges %s and %s", mode, p, q)
			}
		}
	}
	if n := r.network(s, 3, 0, modeDirect); n.Options["nics"] != "eth1,eth2" {
		t.Error(n.Options)
	}
	// Beside ipvlan, macvlan has the last spare NIC, and other addresses.
	r.Modes, s.lab.Topology.Hosts[0].Spare = []string{modeMacvlan, modeIPvlan, modeDirect}, 3
	for host := range 2 {
		a, b := r.network(s, 3, host, modeMacvlan), r.network(s, 4, host, modeIPvlan)
		if a.Parent != "eth3" || b.Parent != "eth0" || r.network(s, 5, host, modeDirect).Options["nics"] != "eth1,eth2" {
			t.Errorf("macvlan on %s, ipvlan on %s, direct with %v", a.Parent, b.Parent, r.network(s, 5, host, modeDirect).Options)
		}
		for i := range a.Ranges {
			for _, other := range []heddle.Network{b, r.network(s, 4, 1-host, modeIPvlan), r.network(s, 3, 1-host, modeMacvlan)} {
				if a.Ranges[i].Overlaps(other.Ranges[i]) {
					t.Errorf("ranges %s and %s", a.Ranges[i], other.Ranges[i])
				}
			}
		}
	}
}

// TestRigTopology: a store where a mode spans hosts, and plain hosts for Docker's
// layout; networks have the preset's MTU, Docker's otherwise its own.
func TestRigTopology(t *testing.T) {
	wires, err := WiresNamed([]string{"intact", "jumbo"})
	if err != nil {
		t.Fatal(err)
	}
	r := &Rig{Options: Options{Name: "b", Modes: []string{"host", "bridge"}, Wires: wires, Pairs: 1}}
	if top := r.topology(0, wires[0]); len(top.Hosts) != 2 || top.Store != "" || top.Cut || top.MTU != 0 {
		t.Errorf("%+v", top)
	}
	r.Modes = []string{"host", bench.Overlay, bench.DockerLayout}
	top := r.topology(1, wires[1])
	if len(top.Hosts) != 4 || top.Store != lab.StoreEmbedded || !top.Cut || top.MTU != 9000 || top.Name != "b-jumbo" {
		t.Errorf("%+v", top)
	}
	for i, n := range top.Hosts {
		if n.Agent.Off != (i > 1) {
			t.Errorf("agent of %s: %+v", n.Name, n.Agent)
		}
	}
	r.Machines = "6.1"
	if top := r.topology(0, wires[0]); top.Machine != "6.1" || top.Store != lab.StoreEtcd || len(top.Hosts) != 5 || top.Hosts[4].Machine != lab.Namespaces || top.Etcd[0] != top.Hosts[4].Name {
		t.Errorf("machines: %+v", top)
	}
	r.ICount = true
	if top := r.topology(0, wires[0]); !top.Hosts[0].ICount || !top.Hosts[1].ICount || top.Hosts[4].ICount || r.InstructionTime() != lab.InstructionTime {
		t.Errorf("the machines' instructions are not counted, or the store's: %+v", top.Hosts)
	}
	r.ICount = false
	if top := r.topology(0, wires[0]); top.Hosts[0].ICount || r.InstructionTime() != 0 {
		t.Errorf("instructions are counted that nobody asked for: %+v", top.Hosts)
	}
	s := &testLab{wire: wires[1]}
	for mode, want := range map[string][2]int{bench.DockerLayout: {1450, 8950}, bench.Overlay: {0, 8950}, "bridge": {0, 0}} {
		for i, mtus := range []map[string]int{nil, {"jumbo": 8950}} {
			r.MTUs = mtus
			if got := r.mtu(s, mode); got != want[i] {
				t.Errorf("%s with %v: MTU %d, want %d", mode, mtus, got, want[i])
			}
		}
	}
}

// TestRigPlug: the machines have slots and grants for the NICs of mode direct, and a further host plugs these in. Hosts without an agent,
// such as the store, have none.
func TestRigPlug(t *testing.T) {
	r := &Rig{Options: Options{Modes: []string{"host", "direct", "ipvlan", bench.Overlay}, Machines: "6.1", Plug: []string{"direct", "ipvlan"}, Pairs: 10}}
	p := &plugging{r.Options, "heddle", "nics"}
	top := r.topology(0, bench.Wire{})
	config := p.addTo(&top)
	if n := len(top.Hosts); n != 4 || top.Hosts[3].Name != hypervisorHost || top.Hosts[3].Machine != lab.Namespaces || top.Hosts[3].Slots != 0 || top.Hosts[2].Slots != 0 {
		t.Fatalf("hypervisor: %+v", top.Hosts)
	}
	for i, n := range top.Hosts[:2] {
		if n.Slots != 21 || n.Spare != 0 || !slices.Equal(n.Agent.Args, []string{"--nic-grant", "nics/" + n.Name}) {
			t.Errorf("machine %d: %+v", i, n)
		}
	}
	if want := "listen: 172.31.240.14:7950\nmachines:\n  host1: {qmp: /run/qmp/host1, networks: [lan-direct, lan-ipvlan], nics: 21, addresses: 20}\n" +
		"  host2: {qmp: /run/qmp/host2, networks: [lan-direct, lan-ipvlan], nics: 21, addresses: 20}\n"; config != want {
		t.Errorf("the service's file: %q, want %q", config, want)
	}
	if n := r.network(&testLab{}, 1, 0, "direct"); n.Options["plug"] != "lan-direct" || len(n.Subnets) > 0 {
		t.Errorf("network: %+v", n)
	}
	if n := r.network(&testLab{}, 1, 0, "ipvlan"); n.Options["plug"] != "lan-ipvlan" || n.Parent != "" || !slices.Equal(n.Subnets, r.pluggedSubnets("ipvlan")) || slices.Equal(n.Subnets, r.pluggedSubnets("direct")) {
		t.Errorf("network: %+v", n)
	}
	r.labs = []*testLab{{lab: &lab.Lab{Hosts: []*lab.Host{{Machine: "6.1", Accelerator: "kvm"}}}}}
	plugged, _ := r.Machine()
	if r.Plug = nil; plugged == "" {
		t.Error("nothing is said of the machines")
	}
	if words, _ := r.Machine(); words == plugged {
		t.Errorf("with and without plugged NICs it says %q: --resume would mix them", words)
	}
	if _, err := New(t.Context(), Options{Modes: r.Modes, Plug: []string{"direct"}, Pairs: 65}); err == nil || !strings.Contains(err.Error(), "130 plugged NICs") {
		t.Errorf("more NICs than a machine takes: %v", err)
	}
}

// TestRigProcessors: the CPU time of a column is that of the machines that it is in.
func TestRigProcessors(t *testing.T) {
	hosts := []*lab.Host{{Name: "host1", Machine: "6.1"}, {Name: "host2", Machine: "6.1"}, {Name: "plain1", Machine: "6.1"}, {Name: "plain2", Machine: "6.1"}, {Name: hypervisorHost}}
	s := &testLab{lab: &lab.Lab{Hosts: hosts}, plainHosts: hosts[2:]}
	for _, c := range []struct {
		mode, span string
		want       []*lab.Host
	}{{"bridge", bench.SameHost, hosts[:1]}, {"direct", bench.Across, hosts[:2]}, {bench.Native, bench.SameHost, hosts[2:3]}, {bench.Native, bench.Across, hosts[2:4]}} {
		if got := s.hosts(c.mode, c.span); !slices.Equal(got, c.want) || processors(got) == nil {
			t.Errorf("%s, %s: %d machines from %s on", c.mode, c.span, len(got), got[0].Name)
		}
	}
	if processors(hosts[4:]) != nil {
		t.Error("hosts of namespaces have a processor of their own")
	}
}

func TestWiresNamed(t *testing.T) {
	all, err := WiresNamed([]string{"intact", "cut", "1g", "10g", "jumbo", "merged"})
	if err != nil || all[0].Name != "" || all[1].Name != "cut" || all[2].Rate != 1e9 || all[3].Rate != 1e10 || all[4].MTU != 9000 {
		t.Errorf("%+v, %v", all, err)
	}
	for _, bad := range [][]string{nil, {"wet"}, {"cut", "cut"}} {
		if _, err := WiresNamed(bad); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
}
