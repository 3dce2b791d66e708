package lab

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/heddle-network/heddle"
)

// Options say what a lab shall be. The zero value of each means its default.
type Options struct {
	// Name tells several labs apart; "lab".
	Name string `json:"name"`
	// Hosts is the number of hosts; 2.
	Hosts int `json:"hosts"`
	// MTU of every host's wire; 1500. HostMTU has other ones by host name.
	MTU     int            `json:"mtu"`
	HostMTU map[string]int `json:"hostMTU,omitempty"`
	// Rate in bits a second of every wire, each way; 0 leaves it unlimited.
	Rate     uint64            `json:"rate,omitempty"`
	HostRate map[string]uint64 `json:"hostRate,omitempty"`
	// Cut turns segmentation offload (TSO, GSO, GRO) off at both ends of every
	// wire, so that each frame crosses by itself, as on a cable.
	Cut bool `json:"cut,omitempty"`
	// NICs is the number of spare NICs of each host, with wires of their own.
	NICs int `json:"nics,omitempty"`
	// Subnet4 and Subnet6 are the wire's subnets; 172.31.240.0/24 and
	// fd99:172:31:240::/64. The switch has .1, host i has .10+i.
	Subnet4 netip.Prefix `json:"subnet4"`
	Subnet6 netip.Prefix `json:"subnet6"`
	// AgentCommand starts the agent; heddled beside the running program. The
	// flags --name, --run-dir and --state-dir and then AgentArgs are appended.
	AgentCommand []string `json:"agentCommand,omitempty"`
	AgentArgs    []string `json:"agentArgs,omitempty"`
	// HostAgentArgs are appended for single hosts, by host name.
	HostAgentArgs map[string][]string `json:"hostAgentArgs,omitempty"`
	// NoAgent leaves the hosts bare. AgentsLater leaves the agents to be started
	// one by one, with Host.StartAgent.
	NoAgent     bool `json:"noAgent,omitempty"`
	AgentsLater bool `json:"agentsLater,omitempty"`
	// Dir holds the labs' folders; DefaultDir.
	Dir string `json:"dir"`
	// Sysctls are set in each host's network namespace ("net.…" only, others
	// would change the machine).
	Sysctls map[string]string `json:"sysctls,omitempty"`
	// Progress is told each step.
	Progress func(string) `json:"-"`
}

const (
	maxMTU  = 65535 // what a veth carries
	minMTU  = 1280  // what IPv6 needs
	minRate = 8000  // a thousand bytes a second
	maxNICs = 99    // two sides each of a MAC's byte
)

var labName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`)

func checkName(s string) error {
	if !labName.MatchString(s) {
		return bad("lab name", s, "a name starts with a letter or digit, goes on with letters, digits, '_', '-', and has at most 32 bytes")
	}
	return nil
}

func bad(what string, value any, remedy string) error {
	return heddle.Errorf(heddle.BadArgument, what, fmt.Sprintf("%q", fmt.Sprint(value)), remedy)
}

// complete fills in the defaults and refuses what cannot be made.
func (o Options) complete() (Options, error) {
	o = o.defaults()
	for _, check := range []func() error{
		func() error { return checkName(o.Name) }, o.checkAddresses, o.checkWires, o.checkSysctls,
	} {
		if err := check(); err != nil {
			return o, err
		}
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, heddle.Wrap(heddle.BadArgument, "use the folder", o.Dir, err, "")
	}
	o.Dir = dir
	return o.findAgent()
}

func (o Options) defaults() Options {
	setDefault(&o.Name, "lab")
	setDefault(&o.Hosts, 2)
	setDefault(&o.MTU, 1500)
	setDefault(&o.Subnet4, netip.MustParsePrefix("172.31.240.0/24"))
	setDefault(&o.Subnet6, netip.MustParsePrefix("fd99:172:31:240::/64"))
	setDefault(&o.Dir, DefaultDir)
	o.Subnet4, o.Subnet6 = o.Subnet4.Masked(), o.Subnet6.Masked()
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (o Options) checkWires() error {
	for name, mtu := range o.HostMTU {
		if !o.hasHost(name) {
			return bad("MTU for host", name, "the lab has no such host")
		}
		if err := checkMTU(mtu); err != nil {
			return err
		}
	}
	for name, rate := range o.HostRate {
		if !o.hasHost(name) {
			return bad("rate for host", name, "the lab has no such host")
		}
		if err := checkRate(rate); err != nil {
			return err
		}
	}
	for name := range o.HostAgentArgs {
		if !o.hasHost(name) {
			return bad("agent arguments for host", name, "the lab has no such host")
		}
	}
	if err := checkRate(o.Rate); err != nil {
		return err
	}
	if o.NICs < 0 || o.NICs > maxNICs {
		return bad("number of spare NICs", o.NICs, fmt.Sprintf("a host has up to %d", maxNICs))
	}
	return checkMTU(o.MTU)
}

func checkMTU(mtu int) error {
	if mtu < minMTU || mtu > maxMTU {
		return heddle.Errorf(heddle.BadMTU, "wire", fmt.Sprint(mtu), fmt.Sprintf("a lab's wire takes %d to %d bytes", minMTU, maxMTU))
	}
	return nil
}

func checkRate(rate uint64) error {
	if rate != 0 && rate < minRate {
		return bad("rate", rate, fmt.Sprintf("a wire carries at least %d bit/s; 0 is unlimited", minRate))
	}
	return nil
}

func (o Options) hasHost(name string) bool {
	for i := range o.Hosts {
		if hostName(i) == name {
			return true
		}
	}
	return false
}

func (o Options) checkSysctls() error {
	for key := range o.Sysctls {
		if p := sysctlPath(key); p != path.Clean(p) || !strings.HasPrefix(p, "/proc/sys/net/") {
			return bad("sysctl", key, "only net.… belongs to a host; others are the whole machine's")
		}
	}
	return nil
}

// findAgent makes the agent's path absolute: hosts work in another folder.
func (o Options) findAgent() (Options, error) {
	if o.NoAgent {
		return o, nil
	}
	if len(o.AgentCommand) == 0 {
		self, err := os.Executable()
		if err != nil {
			return o, heddle.Wrap(heddle.LabFailed, "find the agent beside", "the program", err, "")
		}
		o.AgentCommand = []string{filepath.Join(filepath.Dir(self), "heddled")}
	}
	file, err := filepath.Abs(o.AgentCommand[0])
	if err == nil {
		_, err = os.Stat(file)
	}
	if err != nil {
		return o, heddle.Wrap(heddle.BadArgument, "find the agent", o.AgentCommand[0], err, "name its file with --agent, or leave agents out with --no-agent")
	}
	o.AgentCommand = append([]string{file}, o.AgentCommand[1:]...)
	return o, nil
}

func (o Options) mtu(host string) int {
	if mtu, ok := o.HostMTU[host]; ok {
		return mtu
	}
	return o.MTU
}

func (o Options) rate(host string) uint64 {
	if rate, ok := o.HostRate[host]; ok {
		return rate
	}
	return o.Rate
}

// same reports whether two labs would look alike. Compared is what is recorded:
// an empty list read back is no list.
func (o Options) same(other Options) bool {
	a, err1 := json.Marshal(o)
	b, err2 := json.Marshal(other)
	return err1 == nil && err2 == nil && bytes.Equal(a, b)
}
