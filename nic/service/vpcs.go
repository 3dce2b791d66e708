package service

import (
	"fmt"
	"strconv"

	"github.com/heddle-network/heddle"
)

// checkVPC returns what is wrong with a VPC of the configuration, and the keys that lead to it; "" if nothing is.
func checkVPC(name string, v VPC) (keys []string, why string) {
	switch err := heddle.CheckVPCName(name); {
	case err != nil:
		return nil, heddle.CauseOf(err) + "; " + heddle.RemedyOf(err)
	case v.Agent != "" && !isSocket(v.Agent):
		return []string{"agent"}, notSocket(v.Agent)
	case v.Netns != "" && !isPath(v.Netns):
		return []string{"netns"}, fmt.Sprintf("%q is no path of a network namespace; give an absolute path without . and ..", heddle.Clip(v.Netns))
	}
	return nil, ""
}

// checkVPCs refuses networks of VPCs that the configuration does not have, and those of a domain of libvirt's: libvirtd opens TAP devices
// itself, in the one namespace where it runs.
func (c Config) checkVPCs(g Guest) (keys []string, why string) {
	for i, n := range g.Networks {
		vpc, _ := heddle.SplitVPC(n)
		if vpc == "" {
			continue
		}
		at := []string{"networks", strconv.Itoa(i + 1)}
		if _, known := c.VPCs[vpc]; !known {
			return at, fmt.Sprintf("the file has no VPC %s; add it to vpcs, such as \"vpcs: {%s: {}}\"", vpc, vpc)
		}
		if g.Libvirt != "" {
			return at, fmt.Sprintf("%s is a network of a VPC, and libvirtd would open the TAP device in its own namespace; start the machine with QEMU, and give its qmp", n)
		}
	}
	return nil, ""
}
