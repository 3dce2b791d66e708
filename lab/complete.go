package lab

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/impair"
)

var (
	defaultSubnet4 = netip.MustParsePrefix("172.31.240.0/24")
	defaultSubnet6 = netip.MustParsePrefix("fd99:172:31:240::/64")
)

// complete fills in the defaults and refuses what cannot be made. Nothing in the result is
// left to a default: each wire has its addresses, MTU and rate.
func (t Topology) complete() (Topology, error) {
	t = t.clone()
	setDefault(&t.Name, "lab")
	setDefault(&t.MTU, 1500)
	setDefault(&t.Rate, impair.Unlimited)
	setDefault(&t.Dir, DefaultDir)
	if t.Progress == nil {
		t.Progress = func(string) {}
	}
	dir, err := filepath.Abs(t.Dir)
	if err != nil {
		return t, heddle.Wrap(heddle.BadArgument, "find folder", t.Dir, err, "give an absolute path")
	}
	t.Dir = dir
	for _, step := range []func() error{t.checkFrame, t.completeSwitches, t.completeNodes, t.checkNumbers, t.addEtcd, t.findAgents, t.addVPCs, t.checkDaemons, t.checkMachines} {
		if err := step(); err != nil {
			return t, err
		}
	}
	return t, nil
}

// clone copies the lists, so that complete does not change the caller's.
func (t Topology) clone() Topology {
	t.Switches = append([]Switch(nil), t.Switches...)
	t.Hosts = append([]Node(nil), t.Hosts...)
	for i, n := range t.Hosts {
		t.Hosts[i].NICs = append([]NIC(nil), n.NICs...)
		t.Hosts[i].Daemons = append([]Daemon(nil), n.Daemons...)
	}
	if len(t.Switches) == 0 {
		t.Switches = []Switch{{Name: SwitchName}}
	}
	for i := range t.Switches {
		t.Switches[i].Subnets = append([]netip.Prefix(nil), t.Switches[i].Subnets...)
	}
	return t
}

func (t Topology) completeSwitches() error {
	for i := range t.Switches {
		sw := &t.Switches[i]
		setDefault(&sw.MTU, t.MTU)
		if len(sw.Subnets) == 0 {
			sw.Subnets = carried(sw.MTU, []netip.Prefix{nthSubnet(defaultSubnet4, 2, i), nthSubnet(defaultSubnet6, 7, i)})
		}
		if err := sw.check(); err != nil {
			return err
		}
	}
	return nil
}

// carried returns the prefixes that a wire of that MTU carries: below 1280 bytes it has no IPv6.
func carried(mtu int, all []netip.Prefix) []netip.Prefix {
	return slices.DeleteFunc(all, func(p netip.Prefix) bool { return mtu < heddle.FamilyOf(p.Addr()).LeastMTU() })
}

// nthSubnet returns the subnet whose byte at that index is larger by i.
func nthSubnet(p netip.Prefix, at, i int) netip.Prefix {
	b := p.Addr().AsSlice()
	b[at] += byte(i)
	if p.Addr().Is6() { // in decimal digits: …:240::, …:241::
		b[at] = 0x40 + byte(i/10)<<4 + byte(i%10)
	}
	a, _ := netip.AddrFromSlice(b)
	return netip.PrefixFrom(a, p.Bits())
}

func (t Topology) completeNodes() error {
	for i := range t.Hosts {
		n := &t.Hosts[i]
		setDefault(&n.Machine, t.Machine)
		if n.Machine == Namespaces {
			n.Machine = ""
		}
		if len(n.NICs) == 0 {
			n.NICs = []NIC{{}}
		}
		for j := range n.NICs {
			nic := &n.NICs[j]
			setDefault(&nic.Switch, t.Switches[0].Name)
			sw := t.findSwitch(nic.Switch)
			if sw == nil {
				return refuse("connect "+n.Name+" to switch", nic.Switch,
					"the lab has no such switch", "name one of its switches")
			}
			setDefault(&nic.MTU, sw.MTU)
			setDefault(&nic.Rate, t.Rate)
			if len(nic.Addresses) == 0 {
				nic.Addresses = carried(nic.MTU, sw.addresses(hostOffset+i+1))
			}
		}
		if err := n.check(); err != nil {
			return err
		}
	}
	return nil
}

func (t Topology) findSwitch(name string) *Switch {
	for i := range t.Switches {
		if t.Switches[i].Name == name {
			return &t.Switches[i]
		}
	}
	return nil
}

// findAgents makes the agents' paths absolute, since hosts run in another folder, and
// merges the settings for all agents into each host's.
func (t Topology) findAgents() error {
	for i := range t.Hosts {
		n := &t.Hosts[i]
		a := n.Agent.mergedInto(t.Agent)
		a.Off = a.Off || n.Router
		if a.Off {
			n.Agent = Agent{Off: true}
			continue
		}
		var err error
		if a.Command, err = findAgent(a.Command); err != nil {
			return err
		}
		n.Agent = a
	}
	return nil
}

// mergedInto adds a host's settings to those for all agents.
func (a Agent) mergedInto(all Agent) Agent {
	b := Agent{Command: all.Command, Off: a.Off || all.Off, Later: a.Later || all.Later, Environment: map[string]string{}}
	if len(a.Command) > 0 {
		b.Command = a.Command
	}
	b.Args = append(append(b.Args, all.Args...), a.Args...)
	for _, m := range []map[string]string{all.Environment, a.Environment} {
		for k, v := range m {
			b.Environment[k] = v
		}
	}
	return b
}

func findAgent(command []string) ([]string, error) {
	if len(command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, heddle.Wrap(heddle.LabFailed, "find agent", agentProgram, err, "name its file with --agent")
		}
		command = []string{filepath.Join(filepath.Dir(self), agentProgram)}
	}
	file, err := filepath.Abs(command[0])
	if err == nil {
		_, err = os.Stat(file)
	}
	if err != nil {
		return nil, heddle.Wrap(heddle.BadArgument, "find agent", command[0], err,
			"name its file with --agent, or leave agents out with --no-agent")
	}
	return append([]string{file}, command[1:]...), nil
}

// equals reports whether two topologies make the same lab. It compares their JSON, where
// an empty list and none are the same.
func (t Topology) equals(other Topology) bool {
	a, err1 := json.Marshal(t)
	b, err2 := json.Marshal(other)
	return err1 == nil && err2 == nil && bytes.Equal(a, b)
}

// refuse refuses a value of the caller's or the topology's. It quotes a string.
func refuse(op string, object any, cause, remedy string) error {
	text := fmt.Sprint(object)
	if s, isString := object.(string); isString {
		text = strconv.Quote(s)
	}
	return heddle.Errorf(heddle.BadArgument, op, text, cause, remedy)
}
