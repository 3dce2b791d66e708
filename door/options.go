package door

import (
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
)

// Options of a network that engines pass on, which are no mode's.
const (
	OptionMode = "mode"
	// OptionID names an existing network by its ID.
	OptionID = "heddle.id"
	// OptionMTU is Docker's word, which Compose files have under other engines, too.
	OptionMTU = "com.docker.network.driver.mtu"
	// optionMTU is Podman's word.
	optionMTU    = "mtu"
	optionParent = "parent"
	// optionMasquerade is that of Docker's bridge driver.
	optionMasquerade = "com.docker.network.bridge.enable_ip_masquerade"
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

// SetOption sets what an option of a container engine says about a network: its mode, parent, MTU,
// one of its labels, or an option of the mode. Options of Docker's own drivers mean what they mean
// there.
func SetOption(n *heddle.Network, key, value string) (err error) {
	switch key {
	case OptionMode:
		n.Mode = value
		return nil
	case optionParent:
		n.Parent = value
		return nil
	case OptionMTU, optionMTU:
		if n.MTU, err = strconv.Atoi(value); err != nil || n.MTU < 1 {
			return heddle.Errorf(heddle.BadMTU, "read option", key,
				strconv.Quote(heddle.Clip(value))+" is not a number above zero", "give a number of bytes, such as 1450")
		}
		return nil
	case optionMasquerade:
		key = "masquerade"
	}
	if label, is := strings.CutPrefix(key, prefixLabel); is {
		n.Labels = with(n.Labels, label, value)
		return nil
	}
	if usualValues[key] == value && value != "" {
		return nil
	}
	if remedy, known := dockerOptions[key]; known {
		return heddle.Errorf(heddle.BadOption, "read option", key,
			"no mode of heddle has this option of Docker's own drivers", remedy)
	}
	n.Options = with(n.Options, key, value)
	return nil
}

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// DefaultMode is the mode of a network that names none: that of the Docker driver with the
// given options, otherwise overlay in a cluster (multi) and bridge without one.
func DefaultMode(n heddle.Network, multi bool) string {
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
