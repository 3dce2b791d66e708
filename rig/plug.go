package rig

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/lab"
)

// hypervisorHost is the host that plugs NICs into the virtual machines, if they are plugged in.
const hypervisorHost = "hv"

// nicServicePort is where the hypervisor's service listens.
const nicServicePort = 7950

// PluggedModes are the modes whose NICs can be plugged in. In the first one each container has a NIC of its own; in the others, containers
// share one.
var PluggedModes = []string{modeDirect, modeIPvlan, modeRouted}

// plugs reports whether the mode's NICs are plugged in.
func (o Options) plugs(mode string) bool { return slices.Contains(o.Plug, mode) }

// pluggedNICs is how many NICs are plugged into a host.
func (o Options) pluggedNICs() (n int) {
	for _, mode := range o.Plug {
		if mode == modeDirect {
			n += o.ownNICs()
		} else {
			n++
		}
	}
	return n
}

// pluggedNetwork is the hypervisor's network whose ports are behind the mode's plugged NICs.
func pluggedNetwork(mode string) string { return "lan-" + mode }

// pluggedSubnets are the subnets of that network.
func (o Options) pluggedSubnets(mode string) []netip.Prefix {
	i := byte(slices.Index(o.Plug, mode))
	return []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 199, i, 0}), 24), netip.PrefixFrom(netip.AddrFrom16([16]byte{0: 0xfd, 1: 0x99, 3: 199, 5: i}), 64)}
}

// pluggedNote says where the packets of the mode's plugged NICs go.
func pluggedNote(mode string) string {
	whose := "a NIC that the containers share"
	if mode == modeDirect {
		whose = "a NIC of its own"
	}
	return whose + ", plugged into the running machine (heddle nic serve); its port is on a bridge of the hypervisor, and no wire is crossed"
}

// plugging is what the hypervisor and the machines need to start: files that all of them see.
type plugging struct {
	Options
	program, folder string
}

// newPlugging makes the folder, which is for root alone: the grants in it are secrets.
func newPlugging(o Options) (*plugging, error) {
	program, err := os.Executable()
	if err == nil {
		var folder string
		if folder, err = os.MkdirTemp("", "heddle-bench-nics"); err == nil {
			return &plugging{o, program, folder}, nil
		}
	}
	return nil, heddle.Wrap(heddle.BenchFailed, "prepare", "plugged NICs", err, retryRemedy)
}

func (p *plugging) close() { _ = os.RemoveAll(p.folder) }

func (p *plugging) file() string                { return filepath.Join(p.folder, "nics.yaml") }
func (p *plugging) grant(machine string) string { return filepath.Join(p.folder, machine) }

// addTo adds the hypervisor to a topology, after its machines, which get the grants, and slots for their NICs. It returns what the
// service's file has to say.
func (p *plugging) addTo(t *lab.Topology) (config string) {
	var networks []string
	for _, mode := range p.Plug {
		networks = append(networks, pluggedNetwork(mode))
	}
	var text strings.Builder
	// Hosts have the addresses from .11 on, in their order.
	address := netip.AddrFrom4([4]byte{172, 31, 240, byte(11 + len(t.Hosts))})
	fmt.Fprintf(&text, "listen: %s\nmachines:\n", netip.AddrPortFrom(address, nicServicePort))
	hypervisor := lab.Node{Name: hypervisorHost, Machine: lab.Namespaces}
	once := func(name string, after bool, args ...string) {
		hypervisor.Daemons = append(hypervisor.Daemons, lab.Daemon{Name: name, AfterAgent: after, Command: append([]string{p.program}, args...), Ready: lab.Ready{Exit: true}})
	}
	for i := range t.Hosts {
		n := &t.Hosts[i]
		if n.Agent.Off {
			continue
		}
		fmt.Fprintf(&text, "  %s: {qmp: /run/qmp/%s, networks: [%s], nics: %d, addresses: %d}\n", n.Name, n.Name, strings.Join(networks, ", "), p.pluggedNICs(), p.ownNICs())
		n.Slots, n.Agent.Args = p.pluggedNICs(), append(n.Agent.Args, "--nic-grant", p.grant(n.Name))
		once("grant-"+n.Name, false, "nic", "grant", p.file(), n.Name, "--out", p.grant(n.Name))
	}
	for _, mode := range p.Plug {
		create := []string{"network", "create", pluggedNetwork(mode), "--mode", bench.Reference}
		for _, s := range p.pluggedSubnets(mode) {
			create = append(create, "--subnet", s.String())
		}
		once("network-"+mode, true, create...)
	}
	hypervisor.Daemons = append(hypervisor.Daemons, lab.Daemon{Name: "nics", AfterAgent: true, Command: []string{p.program, "nic", "serve", p.file()},
		Ready: lab.Ready{TCP: nicServicePort, Within: time.Minute}})
	t.Hosts = append(t.Hosts, hypervisor)
	return text.String()
}

// write writes the service's file.
func (p *plugging) write(config string) error {
	if err := os.WriteFile(p.file(), []byte(config), 0o600); err != nil {
		return heddle.Wrap(heddle.BenchFailed, "write", p.file(), err, retryRemedy)
	}
	return nil
}
