package libvirt

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
	provider "github.com/heddle-network/heddle/nic"
)

// aliasPrefix is the beginning of the aliases of everything that this package makes. libvirt keeps aliases as they are only
// if they begin with "ua-".
const aliasPrefix = "ua-heddle-"

// nic is an <interface> of a domain.
type nic struct {
	XMLName xml.Name `xml:"interface"`
	Type    string   `xml:"type,attr"`
	MAC     struct {
		Address string `xml:"address,attr"`
	} `xml:"mac"`
	Target struct {
		Dev     string `xml:"dev,attr"`
		Managed string `xml:"managed,attr"`
	} `xml:"target"`
	Model struct {
		Type string `xml:"type,attr"`
	} `xml:"model"`
	Driver *driver `xml:"driver"`
	MTU    *size   `xml:"mtu"`
	ROM    struct {
		Enabled string `xml:"enabled,attr"`
	} `xml:"rom"`
	Alias alias `xml:"alias"`
}

type size struct {
	Size int `xml:"size,attr"`
}

type driver struct {
	Queues int `xml:"queues,attr"`
}

type alias struct {
	Name string `xml:"name,attr"`
}

// interfaceXML is a virtio NIC at a TAP that is there already. managed='no' has libvirt change nothing of it, and leave it when the NIC goes. With several pairs
// of queues libvirt gives the NIC interrupts for all of them.
func interfaceXML(tap string, mac heddle.MAC, mtu, queues int) (string, error) {
	n := nic{Type: "ethernet", Alias: alias{aliasPrefix + tap}}
	n.MAC.Address, n.Target.Dev, n.Target.Managed = string(mac), tap, "no"
	n.Model.Type, n.ROM.Enabled = "virtio", "no"
	if mtu > 0 {
		n.MTU = &size{mtu}
	}
	if queues > 1 {
		n.Driver = &driver{queues}
	}
	text, err := xml.Marshal(n)
	return string(text), err
}

// description is what this package reads of a <domain>.
type description struct {
	// ID is set if the domain runs.
	ID string `xml:"id,attr"`
	// CPUs is how many processors it can have, Now how many it has, if that is not all.
	CPUs struct {
		All int `xml:",chardata"`
		Now int `xml:"current,attr"`
	} `xml:"vcpu"`
	Devices struct {
		All []device `xml:",any"`
	} `xml:"devices"`
}

type device struct {
	XMLName xml.Name
	Type    string `xml:"type,attr"`
	Model   string `xml:"model,attr"` // of a controller
	Index   string `xml:"index,attr"` // of a controller; that of a PCI controller is the number of its bus
	Alias   alias  `xml:"alias"`
	Target  struct {
		Hotplug string `xml:"hotplug,attr"` // "off" for a port that takes no devices while the domain runs
	} `xml:"target"`
	Address struct {
		Type string `xml:"type,attr"`
		Bus  string `xml:"bus,attr"` // such as 0x01
	} `xml:"address"`
}

func parse(text string) (d description, err error) {
	if err := xml.Unmarshal([]byte(text), &d); err != nil {
		return d, fmt.Errorf("read the XML of the domain: %w", err)
	}
	return d, nil
}

// ids returns what follows aliasPrefix in the aliases of the NICs that have it, sorted.
func (d description) ids() (all []string) {
	for _, x := range d.Devices.All {
		if id, ours := strings.CutPrefix(x.Alias.Name, aliasPrefix); ours && x.XMLName.Local == "interface" {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all
}

// cpus is how many processors the domain has.
func (d description) cpus() int { return max(1, cmp.Or(d.CPUs.Now, d.CPUs.All)) }

// queues is how many pairs of queues a NIC of the domain should have, at least one; see nic.QueuePairs.
func (d description) queues() int {
	all, _ := d.slots()
	return max(1, provider.QueuePairs(all, d.cpus()))
}

// slots counts the root ports that take devices while the domain runs, and those of them without a device. More than the processors have
// interrupts for do not count: libvirt has no words for NICs that share them.
func (d description) slots() (all, free int) {
	all, free = d.ports()
	used, most := all-free, provider.SlotsPerCPU*d.cpus()
	all = min(all, most)
	return all, min(free, max(0, all-used))
}

// ports is slots without that bound.
func (d description) ports() (all, free int) {
	taken := map[uint64]bool{}
	for _, x := range d.Devices.All {
		if bus, err := strconv.ParseUint(x.Address.Bus, 0, 16); x.Address.Type == "pci" && err == nil {
			taken[bus] = true
		}
	}
	for _, x := range d.Devices.All {
		if x.XMLName.Local != "controller" || x.Type != "pci" || x.Model != "pcie-root-port" || x.Target.Hotplug == "off" {
			continue
		}
		all++
		if bus, err := strconv.ParseUint(x.Index, 10, 16); err == nil && !taken[bus] {
			free++
		}
	}
	return all, free
}
