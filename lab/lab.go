// Package lab makes several hosts on one machine. A host is a set of namespaces (network, mount,
// UTS, PID, cgroup) with folders of its own. One small init process holds them. Switches, which are
// held the same way, connect the hosts:
//
//	    host1             host2                 host16
//	  eth0 .11          eth0 .12              eth0 .26      MTU and rate per host
//	     |                 |                     |
//	  [host1]           [host2]      ...     [host16]       ports
//	==+=================+====================+==== bridge "switch" .1
//
// A Topology describes a lab, with routers between several switches and daemons in the hosts;
// Options are its short form. Faults are made while the lab runs: see Lab.Cut and Lab.Impair.
//
// A host may be a virtual machine with a stock kernel. Its namespaces hold the emulator, and its
// wires end there. The following is true for both kinds.
//
// Nothing is made in the machine's own network or mount namespace: everything of a host ends with
// its init. In addition, each lab has one folder and one cgroup folder. So Down kills the inits and
// removes these folders.
package lab

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

// DefaultDir holds one folder for each lab that is up.
const DefaultDir = "/run/heddle-lab"

// SwitchName is the name of the only switch: of the host that holds it, and of the bridge
// in it.
const SwitchName = "switch"

// Lab is a set of hosts and their switches.
type Lab struct {
	Name string `json:"name"`
	// Boot is the machine's boot id; PIDs of another boot are void.
	Boot string `json:"boot"`
	// Ready is set when the last step of Raise was done.
	Ready   bool      `json:"ready"`
	Created time.Time `json:"created"`
	// Topology is complete, without defaults.
	Topology Topology `json:"topology"`
	Switches []*Host  `json:"switches,omitempty"`
	Hosts    []*Host  `json:"hosts,omitempty"`
	Routers  []*Host  `json:"routers,omitempty"`

	folder string
	guard  guard
}

// Host is one host of a lab.
type Host struct {
	Name string `json:"name"`
	// Pid is the PID of the host's init in the machine, Started its start time in clock
	// ticks since boot. Together they identify a process even if PIDs are reused.
	Pid     int    `json:"pid"`
	Started uint64 `json:"started"`
	// Addr4 and Addr6 are the addresses of eth0.
	Addr4 netip.Addr `json:"addr4"`
	Addr6 netip.Addr `json:"addr6"`
	// Socket is the agent's socket and Netns the network namespace, as paths outside of the
	// host.
	Socket string `json:"socket,omitempty"`
	Netns  string `json:"netns"`
	// Log is where the agent writes.
	Log string `json:"log,omitempty"`

	// Machine is the kernel of a virtual machine, Accelerator what runs it: "kvm", or "tcg"
	// for an emulated processor. Both are empty for a host made of namespaces. Netns of a
	// virtual machine is the emulator's, where its wires and its control channel end.
	Machine     string `json:"machine,omitempty"`
	Accelerator string `json:"accelerator,omitempty"`
	// Slots is the number of slots of a virtual machine for NICs that are plugged in while it
	// runs.
	Slots int `json:"slots,omitempty"`

	folder string
}

// Load reads the lab of that name. It also returns a lab that was never finished, so that
// Down can remove it; see Alive.
func Load(dir, name string) (*Lab, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if err := needRoot("find lab", name); err != nil {
		return nil, err
	}
	folder := labFolder(dir, name)
	if _, err := os.Stat(folder); err != nil {
		return nil, heddle.Errorf(heddle.NoLab, "find lab", name, "no lab of that name is up",
			"choose one that 'heddle lab list' shows (--lab NAME, or lab down NAME), or make it with 'heddle lab up --name "+name+"'")
	}
	return read(folder), nil
}

// List reads all labs of the folder.
func List(dir string) ([]*Lab, error) {
	if dir == "" {
		dir = DefaultDir
	}
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err == nil && len(entries) > 0 {
		err = needRoot("list labs in", dir)
	}
	if err != nil {
		return nil, heddle.Wrap(heddle.LabFailed, "list labs in", dir, err, "look at the folder's mode and owner: root reads it")
	}
	var all []*Lab
	for _, e := range entries {
		if e.IsDir() && checkName(e.Name()) == nil {
			all = append(all, read(filepath.Join(dir, e.Name())))
		}
	}
	return all, nil
}

// Host returns the host, router or switch of that name.
func (l *Lab) Host(name string) (*Host, error) {
	for _, h := range l.allHosts() {
		if h.Name == name {
			return h, nil
		}
	}
	return nil, l.noHost(name)
}

func (l *Lab) noHost(name string) error {
	remedy := "choose one of " + strings.Join(l.names(), ", ")
	if len(l.names()) == 0 {
		remedy = "the lab was not made to its end: remove it with 'heddle lab down " + l.Name + "'"
	}
	return heddle.Errorf(heddle.NoLabHost, "find host", name, "lab "+l.Name+" has no such host", remedy)
}

// Alive reports whether the lab was made to the end and all its hosts live.
func (l *Lab) Alive() bool {
	if !l.Ready || l.Boot != bootID() {
		return false
	}
	for _, h := range l.allHosts() {
		if !h.runs() {
			return false
		}
	}
	return true
}

// Folder is where the lab keeps its record, logs and the hosts' folders.
func (l *Lab) Folder() string { return l.folder }

func (l *Lab) allHosts() []*Host {
	return slices.Concat(l.Switches, l.Routers, l.Hosts)
}

func (l *Lab) names() (all []string) {
	for _, h := range l.allHosts() {
		all = append(all, h.Name)
	}
	return all
}

func labFolder(dir, name string) string {
	if dir == "" {
		dir = DefaultDir
	}
	return filepath.Join(dir, name)
}
