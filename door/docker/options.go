package docker

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
)

// Keys of the engine (moby, libnetwork/netlabel).
const (
	keyGeneric  = "com.docker.network.generic"
	keyInternal = "com.docker.network.internal"
	keyMTU      = "com.docker.network.driver.mtu"
	keyGateway  = "com.docker.network.gateway"
	keyMAC      = "com.docker.network.endpoint.macaddress"
	keyPorts    = "com.docker.network.portmap"
	keyPrefix   = "com.docker.network.container_iface_prefix"
	// keyMasquerade is the bridge driver's.
	keyMasquerade = "com.docker.network.bridge.enable_ip_masquerade"
)

// Keys of this door.
const (
	keyMode = "mode"
	// KeyID names an existing network, as an option of the network and of its IPAM. With
	// it, the agents tell their engines of a network that another host has created.
	KeyID = "heddle.id"
	// prefixLabel begins options that are labels: heddle.label.KEY=VALUE.
	prefixLabel = "heddle.label."
)

// dockerOptions are options of Docker's own drivers that no mode has, each with a remedy.
var dockerOptions = map[string]string{
	"encrypted":                                           "leave the option out: an overlay is not encrypted",
	"com.docker.network.bridge.name":                      "leave the option out: heddle names the bridges",
	"com.docker.network.bridge.enable_icc":                "leave the option out, and use a network for each group of containers that may not reach the others",
	"com.docker.network.bridge.host_binding_ipv4":         "name the address when publishing: -p IP:HOST:CONTAINER",
	"com.docker.network.bridge.inhibit_ipv4":              "leave the option out",
	"com.docker.network.driver.overlay.vxlanid_list":      "leave the option out: one tunnel serves all networks of a cluster",
	"com.docker.network.bridge.gateway_mode_ipv4":         "use the option masquerade=false, which sends containers' own addresses out",
	"com.docker.network.bridge.gateway_mode_ipv6":         "use the option masquerade=false, which sends containers' own addresses out",
	"com.docker.network.bridge.trusted_host_interfaces":   "leave the option out",
	"com.docker.network.windowsshim.dnsservers":           "leave the option out",
	"com.docker.network.host_ipv4":                        "leave the option out",
	"com.docker.network.host_ipv6":                        "leave the option out",
	"com.docker.network.driver.overlay.bind_ipv4_address": "leave the option out",
}

// usualValues are the values of such options that are accepted: Docker's defaults, which
// describe what heddle does in any case.
var usualValues = map[string]string{
	"com.docker.network.bridge.enable_icc":        "true",
	"com.docker.network.bridge.host_binding_ipv4": "0.0.0.0",
	"com.docker.network.bridge.inhibit_ipv4":      "false",
	"com.docker.network.bridge.gateway_mode_ipv4": "nat",
	"com.docker.network.bridge.gateway_mode_ipv6": "nat",
}

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
		w.network.Mode = defaultMode(w.network, multi)
	}
	for _, d := range append(slices.Clone(q.IPv4Data), q.IPv6Data...) {
		if err := w.addPool(d); err != nil {
			return w, err
		}
	}
	return w, nil
}

// defaultMode is the mode of a network that names none: that of the Docker driver with the
// given options, otherwise overlay in a cluster and bridge without one.
func defaultMode(n heddle.Network, multi bool) string {
	switch {
	case n.Options["ipvlan_mode"] != "" || n.Options["ipvlan_flag"] != "":
		return "ipvlan"
	case n.Parent != "" || n.Options["macvlan_mode"] != "":
		return "macvlan"
	case multi:
		return "overlay"
	}
	return "bridge"
}

func (w *networkRequest) addOptions(generic map[string]string) (err error) {
	n := &w.network
	for _, key := range slices.Sorted(maps.Keys(generic)) {
		value := generic[key]
		switch key {
		case keyMode:
			n.Mode, w.modeGiven = value, true
		case KeyID:
			w.id = value
		case "parent":
			n.Parent = value
		case keyMTU:
			if n.MTU, err = strconv.Atoi(value); err != nil || n.MTU < 1 {
				return heddle.Errorf(heddle.BadMTU, "read option", key,
					strconv.Quote(heddle.Clip(value))+" is not a number above zero", "give a number of bytes, such as 1450")
			}
		case keyPrefix:
			if value != containerPrefix {
				return heddle.Errorf(heddle.BadOption, "read option", key,
					strconv.Quote(heddle.Clip(value))+" cannot be used: interfaces in containers are called eth0, eth1, …",
					"leave the option out")
			}
		case keyMasquerade:
			n.Options = withOption(n.Options, "masquerade", value)
		default:
			if label, is := strings.CutPrefix(key, prefixLabel); is {
				n.Labels = withOption(n.Labels, label, value)
				continue
			}
			if usualValues[key] == value && value != "" {
				continue
			}
			if remedy, known := dockerOptions[key]; known {
				return heddle.Errorf(heddle.BadOption, "read option", key,
					"no mode of heddle has this option of Docker's own drivers", remedy)
			}
			n.Options = withOption(n.Options, key, value)
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
