package firewall

import (
	"path"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
)

// OptionEngines is the option of a network whose containers may call containers of other engines on
// the host.
const OptionEngines = "engines"

// EngineDevices are the names of the devices to which other engines attach their containers,
// as patterns of path.Match: dockerd (docker0, docker_gwbridge, br- and the first 12
// digits of a network's id), podman (also before version 4), nerdctl, libvirt, LXC, LXD
// and Incus.
func EngineDevices() []string {
	all := []string{"docker*", "podman*", "cni-podman*", "nerdctl*", "virbr*", "lxcbr*", "lxdbr*", "incusbr*"}
	for _, digit := range "0123456789abcdef" {
		all = append(all, "br-"+string(digit)+"*")
	}
	slices.Sort(all)
	return all
}

// SetOutlets holds the host's outside interfaces whose names match those of other engines'
// devices.
const SetOutlets = "outlets"

func engineNames() string { return `{ "` + strings.Join(EngineDevices(), `", "`) + `" }` }

// Outlets are the host's outside interfaces whose names match those of other engines' devices, such
// as a bridge br-ext.
func Outlets(h heddle.HostFacts) []heddle.Element {
	var all []heddle.Element
	for _, l := range h.Links {
		like := func(pattern string) bool { ok, _ := path.Match(pattern, l.Name); return ok }
		if len(l.Gateways) > 0 && slices.ContainsFunc(EngineDevices(), like) {
			all = append(all, heddle.Element{Family: "inet", Set: SetOutlets, Match: []string{l.Name}})
		}
	}
	return all
}
