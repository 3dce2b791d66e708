package service

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
	"github.com/heddle-network/heddle/nic/remote"
	"github.com/heddle-network/heddle/yamlfile"
)

const (
	// DefaultNICs is how many NICs a machine may have that the configuration gives no number, MaxNICs the
	// largest number.
	DefaultNICs, MaxNICs = 16, 128
	// DefaultQueues is how many pairs of queues a NIC has at most if the configuration gives no number, MaxQueues the largest number. With several,
	// QEMU 7.2 aborts if the TAP is deleted before the NIC is out, so that has to be asked for.
	DefaultQueues, MaxQueues = 1, 64
	// maxMachines and maxNetworks bound the lists of the configuration, maxConfig its size in bytes.
	maxMachines, maxNetworks = 1024, 256
	maxConfig                = 1 << 20
	// maxSocket is the longest path of a unix socket in bytes (unix(7)), maxDomain that of a domain's name, which is a
	// part of file names.
	maxSocket, maxDomain = 107, 200
	// libvirtSocket is where the libvirtd of a host listens.
	libvirtSocket = "/var/run/libvirt/libvirt-sock"
)

// Config is the file of 'heddle nic serve'.
type Config struct {
	// Listen is the IP address and the port at which machines reach the service.
	Listen string `yaml:"listen"`
	// Libvirt is the path of the socket of this host's libvirtd; "" is the usual one.
	Libvirt string `yaml:"libvirt"`
	// VPCs are those of this host of which machines may have NICs, by name.
	VPCs map[string]VPC `yaml:"vpcs"`
	// Machines are those that may ask, by name.
	Machines map[string]Guest `yaml:"machines"`
}

// Guest is a machine of the configuration.
type Guest struct {
	// QMP is the path of the QEMU socket by which devices are plugged into it, Libvirt the name of the domain that it is. It
	// has one of them.
	QMP     string `yaml:"qmp"`
	Libvirt string `yaml:"libvirt"`
	// Networks are those of this host on which it may have NICs; VPC/NETWORK is one of a VPC.
	Networks []string `yaml:"networks"`
	// Most is how many NICs it may have at a time; nil is DefaultNICs.
	Most *int `yaml:"nics"`
	// Addresses is how many sets of further addresses each of its NICs may have.
	Addresses int `yaml:"addresses"`
	// Pairs is how many pairs of queues each of its NICs has at most; nil is DefaultQueues. It has no more than the machine has processors.
	Pairs *int `yaml:"queues"`
	// Rate is what each of its NICs may receive, and send, at most, as heddle.ParseRate reads it; "" is no limit. RateIn and RateOut are for one
	// direction, seen from the machine.
	Rate    string `yaml:"rate"`
	RateIn  string `yaml:"rateIn"`
	RateOut string `yaml:"rateOut"`
}

// VPC is where a VPC of the configuration is found.
type VPC struct {
	// Agent is the path of its agent's socket, Netns that of its network namespace. Without them they are the usual ones.
	Agent string `yaml:"agent"`
	Netns string `yaml:"netns"`
}

// NICs is how many NICs the machine may have at a time.
func (g Guest) NICs() int {
	if g.Most == nil {
		return DefaultNICs
	}
	return *g.Most
}

// Queues is how many pairs of queues a NIC of the machine has at most.
func (g Guest) Queues() int {
	if g.Pairs == nil {
		return DefaultQueues
	}
	return *g.Pairs
}

// LibvirtSocket is the path of the socket of this host's libvirtd.
func (c Config) LibvirtSocket() string {
	if c.Libvirt == "" {
		return libvirtSocket
	}
	return c.Libvirt
}

// ReadConfig reads the configuration of a file, and checks it. Its error is of code heddle.BadArgument and names
// line and key.
func ReadConfig(file string) (Config, error) {
	f, err := os.Open(file)
	if err != nil {
		return Config{}, heddle.Wrap(heddle.BadArgument, "read configuration of NIC service", file, err, "name a readable file")
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(text) > maxConfig {
		err = fmt.Errorf("it is larger than %d bytes", maxConfig)
	}
	var c Config
	if err == nil {
		c, err = ParseConfig(text)
	}
	if err != nil {
		return Config{}, heddle.Errorf(heddle.BadArgument, "read configuration of NIC service", file, err.Error(), "correct the file")
	}
	return c, nil
}

// ParseConfig reads a configuration, and checks it. Its error names line and key.
func ParseConfig(text []byte) (Config, error) {
	var c Config
	if err := yamlfile.Decode(text, &c); err != nil {
		return Config{}, err
	}
	if keys, why := c.check(); why != "" {
		return Config{}, fmt.Errorf("%s: %s", yamlfile.Where(text, keys...), why)
	}
	return c, nil
}

// check returns what is wrong, and the keys that lead to it; "" if nothing is.
func (c Config) check() (keys []string, why string) {
	if c.Listen == "" {
		return []string{"listen"}, "it is missing; give an address of this host with a port, such as 192.0.2.1:7950"
	}
	if err := remote.CheckAddress(c.Listen); err != nil {
		return []string{"listen"}, err.Error()
	}
	if c.Libvirt != "" && !isSocket(c.Libvirt) {
		return []string{"libvirt"}, notSocket(c.Libvirt)
	}
	if n := len(c.Machines); n == 0 || n > maxMachines {
		return []string{"machines"}, fmt.Sprintf("it has %s; give 1 to %d", heddle.Count(n, "machine"), maxMachines)
	}
	for _, name := range slices.Sorted(maps.Keys(c.VPCs)) {
		if below, why := checkVPC(name, c.VPCs[name]); why != "" {
			return append([]string{"vpcs", name}, below...), why
		}
	}
	owner := map[[2]string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Machines)) {
		g, at := c.Machines[name], []string{"machines", name}
		if err := nic.CheckMachine(name); err != nil {
			return at, heddle.CauseOf(err) + "; " + heddle.RemedyOf(err)
		}
		below, why := g.check()
		if why == "" {
			below, why = c.checkVPCs(g)
		}
		if why != "" {
			return append(at, below...), why
		}
		kind, what := "qmp", "socket"
		if g.Libvirt != "" {
			kind, what = "libvirt", "domain"
		}
		is := [2]string{g.QMP, g.Libvirt}
		if other := owner[is]; other != "" {
			return append(at, kind), fmt.Sprintf("machine %s has the same %s; give each machine its own", other, what)
		}
		owner[is] = name
	}
	return nil, ""
}

func (g Guest) check() (keys []string, why string) {
	switch {
	case g.QMP == "" && g.Libvirt == "":
		return nil, "it has neither qmp nor libvirt; give the path of the machine's QMP socket, or the name of its libvirt domain"
	case g.QMP != "" && g.Libvirt != "":
		return []string{"libvirt"}, "the machine has qmp, too; leave one of them out"
	case g.QMP != "" && !isSocket(g.QMP):
		return []string{"qmp"}, notSocket(g.QMP)
	case g.Libvirt != "" && !isDomain(g.Libvirt):
		return []string{"libvirt"}, fmt.Sprintf("%q is no name of a domain; give the name that 'virsh list --all' shows", heddle.Clip(g.Libvirt))
	case len(g.Networks) == 0 || len(g.Networks) > maxNetworks:
		return []string{"networks"}, fmt.Sprintf("it has %s; give 1 to %d of this host's networks", heddle.Count(len(g.Networks), "network"), maxNetworks)
	case g.NICs() < 1 || g.NICs() > MaxNICs:
		return []string{"nics"}, fmt.Sprintf("%d is no number of NICs; give 1 to %d", g.NICs(), MaxNICs)
	case g.Addresses < 0 || g.Addresses > heddle.MaxFurther:
		return []string{"addresses"}, fmt.Sprintf("%d is no number of further addresses; give 0 to %d", g.Addresses, heddle.MaxFurther)
	case g.Queues() < 1 || g.Queues() > MaxQueues:
		return []string{"queues"}, fmt.Sprintf("%d is no number of pairs of queues; give 1 to %d", g.Queues(), MaxQueues)
	}
	if key, why := g.checkRates(); why != "" {
		return []string{key}, why
	}
	for i, n := range g.Networks {
		at := []string{"networks", strconv.Itoa(i + 1)}
		if err := heddle.CheckNICNetwork(n); err != nil {
			return at, fmt.Sprintf("%q is no name of a network; %s", heddle.Clip(n), heddle.RemedyOf(err))
		}
		if slices.Contains(g.Networks[:i], n) {
			return at, n + " is given twice; take one out"
		}
	}
	return nil, ""
}

func isSocket(path string) bool { return len(path) <= maxSocket && isPath(path) }

func isPath(path string) bool {
	return filepath.IsAbs(path) && filepath.Clean(path) == path && !strings.ContainsRune(path, 0)
}

func notSocket(path string) string {
	return fmt.Sprintf("%q is no path of a socket; give an absolute path of at most %d bytes without . and ..", heddle.Clip(path), maxSocket)
}

// isDomain reports whether libvirt takes such a name: it refuses slashes, line breaks, and white space alone.
func isDomain(name string) bool {
	return len(name) <= maxDomain && strings.TrimSpace(name) == name && !strings.ContainsFunc(name, func(r rune) bool { return r == '/' || unicode.IsControl(r) })
}
