package rig

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/lab"
)

// hypervisorHost is the host that plugs NICs into the virtual machines, if they are plugged in.
const hypervisorHost = "hv"

// pluggedNetwork is the hypervisor's network whose ports are behind plugged NICs, and nicServicePort where its service listens.
const (
	pluggedNetwork = "lan"
	nicServicePort = 7950
)

// pluggedNote says where the packets of plugged NICs go.
const pluggedNote = "a NIC of its own, plugged into the running machine (heddle nic serve); its port is on a bridge of the hypervisor, and no wire is crossed"

// plugging is what the hypervisor and the machines need to start: files that all of them see.
type plugging struct{ program, folder string }

// newPlugging makes the folder, which is for root alone: the grants in it are secrets.
func newPlugging() (*plugging, error) {
	program, err := os.Executable()
	if err == nil {
		var folder string
		if folder, err = os.MkdirTemp("", "heddle-bench-nics"); err == nil {
			return &plugging{program, folder}, nil
		}
	}
	return nil, heddle.Wrap(heddle.BenchFailed, "prepare", "plugged NICs", err, retryRemedy)
}

func (p *plugging) close() { _ = os.RemoveAll(p.folder) }

func (p *plugging) file() string                { return filepath.Join(p.folder, "nics.yaml") }
func (p *plugging) grant(machine string) string { return filepath.Join(p.folder, machine) }

// addTo adds the hypervisor to a topology, after its machines, which get the grants, and slots for so many NICs. It returns what the
// service's file has to say.
func (p *plugging) addTo(t *lab.Topology, nics int) (config string) {
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
		fmt.Fprintf(&text, "  %s: {qmp: /run/qmp/%s, networks: [%s], nics: %d}\n", n.Name, n.Name, pluggedNetwork, nics)
		n.Slots, n.Agent.Args = nics, append(n.Agent.Args, "--nic-grant", p.grant(n.Name))
		once("grant-"+n.Name, false, "nic", "grant", p.file(), n.Name, "--out", p.grant(n.Name))
	}
	once("network", true, "network", "create", pluggedNetwork, "--mode", bench.Reference, "--subnet", "10.199.0.0/24", "--subnet", "fd99:199::/64")
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
