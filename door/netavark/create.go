package netavark

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door"
)

// ipamDriver is the IPAM driver that Podman's networks of this door have. Podman knows its own
// three, and gives no addresses where the driver is another (containers/common,
// libnetwork/netavark/ipam.go): the agent is the only one who does. With Podman's driver none, it
// would allow no aliases.
const ipamDriver = "heddle"

// optionNoRoute is Podman's word for a network through which no default route leads.
const optionNoRoute = "no_default_route"

// create makes the network that Podman's is to stand for, and returns Podman's document with what
// the network is. A network that exists is taken if the document agrees with it.
func (h *Handler) create(body []byte) (any, error) {
	var doc map[string]any
	var asked network
	if err := decode(body, &asked); err != nil {
		return nil, err
	}
	if err := decode(body, &doc); err != nil {
		return nil, err
	}
	want, id, err := asked.wanted()
	if err != nil {
		return nil, err
	}
	if err := heddle.CheckNetworkName(want.Name); err != nil {
		return nil, err
	}
	made, err := h.find(want, id, asked.IPv6)
	if err != nil {
		return nil, err
	}
	return asked.answer(doc, made), nil
}

// wanted is the network that the document asks for, and the ID if it names an existing one.
func (n network) wanted() (want heddle.Network, id string, err error) {
	want = heddle.Network{Name: n.Name, Internal: n.Internal, Parent: n.Parent}
	for _, key := range slices.Sorted(maps.Keys(n.Options)) {
		switch value := n.Options[key]; key {
		case door.OptionID:
			id = value
		case optionNoRoute:
			_, err = truth(key, value)
		default:
			err = door.SetOption(&want, key, value)
		}
		if err != nil {
			return want, id, err
		}
	}
	for _, s := range n.Subnets {
		if err := s.addTo(&want); err != nil {
			return want, id, err
		}
	}
	return want, id, n.checkServed()
}

// checkServed refuses what Podman's own drivers have and heddle has not.
func (n network) checkServed() error {
	refuse := func(what, cause, remedy string) error {
		return heddle.Errorf(heddle.BadOption, "create network", n.Name, what+" "+cause, remedy)
	}
	switch driver := n.IPAM["driver"]; {
	case driver != "" && driver != ipamDriver:
		return refuse("the IPAM driver "+heddle.Clip(driver), "cannot be used: heddle gives the addresses itself", "leave --ipam-driver out")
	case len(n.Routes) > 0:
		return refuse("a static route (--route)", "cannot be given: containers' routes follow from the networks that they are on", "leave --route out")
	case len(n.NameServers) > 0:
		return refuse("a name server (--dns)", "cannot be given: the network's resolver asks those of the host", "leave --dns out, or give it to 'podman run'")
	}
	return nil
}

// answer is the document with what the network is: its subnets and gateways, its mode and ID.
func (n network) answer(doc map[string]any, made heddle.Network) map[string]any {
	options := maps.Clone(n.Options)
	if options == nil {
		options = map[string]string{}
	}
	options[door.OptionMode], options[door.OptionID] = made.Mode, made.ID
	var subnets []subnet
	for _, p := range made.Subnets {
		s := subnet{Subnet: p}
		s.Gateway, _ = made.GatewayFor(p.Addr())
		if i := slices.IndexFunc(n.Subnets, func(given subnet) bool { return given.Subnet == p }); i >= 0 {
			s.Lease = n.Subnets[i].Lease
		}
		subnets = append(subnets, s)
	}
	doc["subnets"], doc["options"] = subnets, options
	doc["internal"], doc["ipv6_enabled"] = made.Internal, made.HasFamily(heddle.IPv6)
	doc["ipam_options"] = map[string]string{"driver": ipamDriver}
	return doc
}

func truth(key, value string) (bool, error) {
	switch strings.ToLower(value) {
	case "1", "true":
		return true, nil
	case "0", "false":
		return false, nil
	}
	return false, heddle.Errorf(heddle.BadOption, "read option", key, fmt.Sprintf("%q is neither true nor false", heddle.Clip(value)), "give true or false")
}
