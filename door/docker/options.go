package docker

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door"
)

// Keys of the engine (moby, libnetwork/netlabel).
const (
	keyGeneric  = "com.docker.network.generic"
	keyInternal = "com.docker.network.internal"
	keyGateway  = "com.docker.network.gateway"
	keyMAC      = "com.docker.network.endpoint.macaddress"
	keyPorts    = "com.docker.network.portmap"
	keyPrefix   = "com.docker.network.container_iface_prefix"
)

// KeyID names an existing network, as an option of the network and of its IPAM. With it, the agents
// tell their engines of a network that another host has created.
const KeyID = door.OptionID

// Names of auxiliary addresses by which Docker's own drivers give containers another
// gateway than the network's.
const auxGateway4, auxGateway6 = "DefaultGatewayIPv4", "DefaultGatewayIPv6"

// networkRequest is a decoded CreateNetwork.
type networkRequest struct {
	network heddle.Network
	// id is the id of an existing network of ours, or empty.
	id string
	// modeGiven says that the request named the mode.
	modeGiven bool
	// spaces are the address spaces of the pools.
	spaces []string
}

// parseNetworkRequest decodes a request; multi says that the host belongs to a cluster.
func parseNetworkRequest(q createNetwork, multi bool) (w networkRequest, err error) {
	generic, err := optionMap(q.Options[keyGeneric])
	if err != nil {
		return w, err
	}
	w.network.Name = heddle.ProvisionalDockerName(q.NetworkID)
	if w.network.Internal, err = boolOption(q.Options, keyInternal); err != nil {
		return w, err
	}
	if err := w.addOptions(generic); err != nil {
		return w, err
	}
	if w.network.Mode == "" {
		w.network.Mode = door.DefaultMode(w.network, multi)
	}
	for _, d := range append(slices.Clone(q.IPv4Data), q.IPv6Data...) {
		if err := w.addPool(d); err != nil {
			return w, err
		}
	}
	return w, nil
}

func (w *networkRequest) addOptions(generic map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(generic)) {
		value := generic[key]
		switch key {
		case door.OptionMode:
			w.modeGiven = true
		case KeyID:
			w.id = value
			continue
		case keyPrefix:
			if value != containerPrefix {
				return heddle.Errorf(heddle.BadOption, "read option", key,
					strconv.Quote(heddle.Clip(value))+" cannot be used: interfaces in containers are called eth0, eth1, …",
					"leave the option out")
			}
			continue
		}
		if err := door.SetOption(&w.network, key, value); err != nil {
			return err
		}
	}
	return nil
}

// addPool adds one pool. The null IPAM driver sends 0.0.0.0/0, which means no pool.
func (w *networkRequest) addPool(d ipamData) error {
	if d.Pool == "" || strings.HasPrefix(d.Pool, "0.0.0.0/0") || d.Pool == "::/0" {
		return nil
	}
	p, err := netip.ParsePrefix(d.Pool)
	if err != nil {
		return heddle.Wrap(heddle.BadSubnet, "read address pool", strconv.Quote(heddle.Clip(d.Pool)), err,
			"give --subnet such as 10.20.0.0/24")
	}
	n := &w.network
	n.Subnets, w.spaces = append(n.Subnets, p), append(w.spaces, d.AddressSpace)
	if d.Gateway != "" {
		g, err := parseAddr(d.Gateway)
		if err != nil {
			return err
		}
		n.Gateways = append(n.Gateways, g)
	}
	for _, name := range slices.Sorted(maps.Keys(d.AuxAddresses)) {
		if name == auxGateway4 || name == auxGateway6 {
			return heddle.Errorf(heddle.BadOption, "read auxiliary address", name,
				"containers' default route leads to the network's gateway", "name the gateway with --gateway")
		}
		a, err := parseAddr(d.AuxAddresses[name])
		if err != nil {
			return err
		}
		n.Reserved = append(n.Reserved, a)
	}
	return nil
}
