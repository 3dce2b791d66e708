package netavark

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door"
)

// find returns the network with the ID if there is one, else that of the name, made if it is missing.
// One that exists agrees with what is asked for.
func (h *Handler) find(want heddle.Network, id string, dual bool) (made heddle.Network, err error) {
	var old heddle.Network
	if id == "" {
		old, err = h.networks.Network(want.Name)
	} else if old, err = h.networks.NetworkByID(id); err != nil {
		return old, err
	} else {
		want.Name = old.Name
	}
	if named := (heddle.Network{Name: want.Name}); err == nil && reflect.DeepEqual(want, named) {
		want = old // nothing is asked but its name
	}
	if want.Mode == "" && err == nil {
		want.Mode = old.Mode
	} else if want.Mode == "" {
		want.Mode = door.DefaultMode(want, h.networks.Spans("overlay"))
	}
	if err := notHost(want, "create network"); err != nil {
		return want, err
	}
	made = want
	if want.ID == "" && (id != "" || dual) {
		if made, _, err = h.networks.CreateNetwork(want, true); err != nil {
			return made, err
		}
	}
	if id != "" && made.ID != id {
		return made, heddle.Errorf(heddle.NoNetwork, "create network", want.Name, "the network with the ID "+heddle.Clip(id)+" has just been deleted or renamed", "try again")
	}
	if dual && !made.HasFamily(heddle.IPv6) {
		return made, heddle.Errorf(heddle.BadSubnet, "create network", want.Name, "--ipv6 is given, and the network has no IPv6 subnet, or this host no IPv6 address",
			"give an IPv6 subnet as well, such as --subnet fd20::/64, or leave --ipv6 out")
	}
	if want.ID == "" && id == "" {
		made, _, err = h.networks.CreateNetwork(want, false)
	}
	return made, err
}

// networkOf is the network that Podman's stands for: by its ID, or by its name if it was deleted and
// made again. Podman's containers count on what Podman knows of it.
func (h *Handler) networkOf(asked network) (n heddle.Network, err error) {
	if err := heddle.CheckNetworkName(asked.Name); err != nil {
		return n, err
	}
	gone := heddle.NoNetwork.Sentinel()
	id := asked.Options[door.OptionID]
	if id != "" {
		n, err = h.networks.NetworkByID(id)
	}
	if id == "" || errors.Is(err, gone) {
		n, err = h.networks.Network(asked.Name)
	}
	if errors.Is(err, gone) {
		return n, heddle.Errorf(heddle.NoNetwork, "use Podman's network", asked.Name, "the network of heddle that it stood for was deleted",
			"create it again: "+asked.command())
	}
	if err == nil {
		err = notHost(n, "use network")
	}
	if err == nil {
		err = asked.agrees(n)
	}
	return n, err
}

// notHost refuses a network of mode host, which has no interfaces to give.
func notHost(n heddle.Network, op string) error {
	if n.Mode != "host" {
		return nil
	}
	return heddle.Errorf(heddle.BadOption, op, n.Name, "mode host needs no driver in Podman, and gives a container no interface",
		"start containers with --network host")
}

// agrees compares what Podman knows of a network with what it is.
func (n network) agrees(is heddle.Network) error {
	known := heddle.Network{Mode: n.Options[door.OptionMode], Internal: n.Internal}
	for _, s := range n.Subnets {
		known.Subnets = append(known.Subnets, s.Subnet)
	}
	if is.Fits(known) {
		return nil
	}
	words := func(n heddle.Network) string {
		return fmt.Sprintf("mode %s, internal %t, subnets %s", heddle.Clip(n.Mode), n.Internal, heddle.List(n.Subnets))
	}
	return heddle.Errorf(heddle.BadSubnet, "use network", is.Name, "it has "+words(is)+", and Podman's network has "+words(known),
		"delete it ('heddle network delete "+is.Name+"'), and create it again: "+n.command())
}

// maxCommand bounds a command in an error, in bytes.
const maxCommand = 1000

// command is the one that creates the network anew as Podman knows it.
func (n network) command() string {
	want, _, _ := n.wanted() // as far as it can be read
	if want.Mode == "" {
		want.Mode = "MODE"
	}
	command := want.CreateCommand()
	if len(command) > maxCommand { // nobody typed that
		command = "heddle network create " + n.Name + " …"
	}
	return "'" + command + "'"
}
