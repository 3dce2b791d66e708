package parts

import (
	"fmt"
	"strconv"

	"github.com/heddle-network/heddle"
)

// Options of modes whose endpoints can share NICs that are plugged in.
var (
	Plug = heddle.ModeOption{Name: "plug", Values: "NETWORK",
		Text: "parents are plugged in on this network of their provider, and out again; each container has an address of one"}
	Warm = heddle.ModeOption{Name: "warm", Values: "N", Text: "keep that many addresses ready for the next containers; with plug alone"}
)

// SharedNICs are the methods of heddle.ParentPlugger that read these options.
type SharedNICs struct{}

// ParentsOn is the value of option plug.
func (SharedNICs) ParentsOn(n heddle.Network) string { return n.Options[Plug.Name] }

// WarmAddresses is the value of option warm.
func (SharedNICs) WarmAddresses(n heddle.Network) int {
	count, _ := strconv.Atoi(n.Options[Warm.Name]) // CheckPlug has read it
	return count
}

// maxWarm bounds the addresses that wait for endpoints.
const maxWarm = 256

// CheckPlug refuses what does not go with parents that are plugged in. It accepts a network whose parent is there.
func CheckPlug(n heddle.Network) error {
	refuse := func(code heddle.Code, why, remedy string) error {
		return heddle.Errorf(code, "create network", n.Name, why, remedy)
	}
	on, warm := n.Options[Plug.Name], n.Options[Warm.Name]
	switch {
	case on == "" && warm == "":
		return nil
	case on == "":
		return BadOption(n, Warm.Name+"="+heddle.Clip(warm), "it says how many addresses are to wait, and no parents are plugged in", "add --opt plug=NETWORK, or leave it out")
	case n.Parent != "":
		return refuse(heddle.BadOption, "its parents are plugged in, and another one is named as well", "leave --parent out, or --opt plug")
	case n.FromDHCP():
		return BadOption(n, heddle.OptionAddresses+"="+heddle.AddressesDHCP, "who plugs a parent in says which addresses the containers on it may have",
			"name the subnets of the provider's network with --subnet, and leave --opt addresses out; or use mode direct, where each container has a NIC of its own")
	case len(n.Subnets) == 0:
		return refuse(heddle.BadSubnet, "which subnets its parents will be in is not known before one is plugged in", "name the subnets of the provider's network with --subnet")
	case len(n.Gateways) > 0 || len(n.Ranges) > 0:
		return refuse(heddle.BadOption, "who plugs a NIC in says what its addresses and gateways are", "leave --gateway and --ip-range out")
	}
	if warm != "" {
		if count, err := strconv.Atoi(warm); err != nil || count < 0 || count > maxWarm {
			return BadOption(n, Warm.Name+"="+heddle.Clip(warm), fmt.Sprintf("it is no number from 0 to %d", maxWarm), "say how many addresses are to wait for endpoints")
		}
	}
	return heddle.CheckNICNetwork(on)
}
