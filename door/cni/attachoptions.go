package cni

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
)

// AttachOptions is what the runtime asks for one attachment: by capabilities
// (runtimeConfig), by the configuration's args, and by CNI_ARGS. The first of these that
// has a value counts (CONVENTIONS.md of the specification).
type AttachOptions struct {
	runtime map[string]json.RawMessage
	args    struct {
		CNI struct {
			IPs []string `json:"ips"`
			MAC string   `json:"mac"`
			// NIC is ours: which NIC of a direct network, by name or MAC address.
			NIC string `json:"nic"`
		} `json:"cni"`
	}
}

type portMapping struct {
	HostPort      int    `json:"hostPort"`
	ContainerPort int    `json:"containerPort"`
	Protocol      string `json:"protocol"`
	HostIP        string `json:"hostIP"`
}

// apply adds addresses, MAC, NIC, ports and labels to an attach request.
func (w AttachOptions) apply(env Args, q *heddle.AttachRequest) error {
	ips, mac := w.args.CNI.IPs, w.args.CNI.MAC
	if len(ips) == 0 {
		ips = env.IPs
	}
	if mac == "" {
		mac = env.MAC
	}
	for _, key := range slices.Sorted(maps.Keys(w.runtime)) {
		raw := w.runtime[key]
		var err error
		switch key {
		case "ips":
			err = override(key, raw, &ips)
		case "mac":
			err = override(key, raw, &mac)
		case "portMappings":
			q.Ports, err = parsePorts(raw)
		case "bandwidth":
			q.Limits, err = parseBandwidth(raw)
		default:
			if string(raw) != "null" {
				err = unsupported("runtimeConfig."+key, raw,
					"give portMappings, bandwidth, mac or ips; chain a plugin that serves "+heddle.Clip(key))
			}
		}
		if err != nil {
			return err
		}
	}
	q.NIC, q.Labels = w.args.CNI.NIC, env.Labels
	return setAddresses(ips, mac, q)
}

// override decodes a capability, which takes precedence over other sources; an empty one
// changes nothing.
func override[T any](key string, raw json.RawMessage, value *T) error {
	if s := string(raw); s == "null" || s == "[]" || s == `""` {
		return nil
	}
	var own T
	if err := decode("runtimeConfig."+key, raw, &own); err != nil {
		return err
	}
	*value = own
	return nil
}

func setAddresses(ips []string, mac string, q *heddle.AttachRequest) (err error) {
	for _, s := range ips {
		// a prefix length is allowed and not used: the network has its own
		bare, _, _ := strings.Cut(s, "/")
		a, err := netip.ParseAddr(bare)
		if p, bad := netip.ParsePrefix(s); bare != s && (bad != nil || p.Addr() != a) || err != nil || a.Zone() != "" {
			return badKey("ips", fmt.Sprintf("%q is not an address", heddle.Clip(s)),
				"give addresses such as 10.20.0.7 or 10.20.0.7/24")
		}
		q.IPs = append(q.IPs, a.Unmap())
	}
	if mac != "" {
		q.MAC, err = heddle.ParseMAC(mac)
	}
	return err
}

func parsePorts(raw json.RawMessage) (all []heddle.PortMapping, err error) {
	var given []portMapping
	if err := decode("runtimeConfig.portMappings", raw, &given); err != nil {
		return nil, err
	}
	for i, p := range given {
		key := fmt.Sprintf("runtimeConfig.portMappings[%d]", i)
		m := heddle.PortMapping{Protocol: strings.ToLower(p.Protocol)}
		if m.Protocol == "" {
			m.Protocol = "tcp"
		}
		if _, known := heddle.ProtocolNumber(m.Protocol); !known {
			return nil, unsupported(key+".protocol", []byte(p.Protocol), "give tcp, udp or sctp")
		}
		for _, n := range []int{p.HostPort, p.ContainerPort} {
			if n < 1 || n > 65535 {
				return nil, badKey(key, fmt.Sprintf("port %d is out of range", n), "give hostPort and containerPort from 1 to 65535: CNI has no answer that could tell a port chosen for 0")
			}
		}
		m.HostPort, m.ContainerPort = uint16(p.HostPort), uint16(p.ContainerPort)
		if p.HostIP != "" {
			if m.HostIP, err = netip.ParseAddr(p.HostIP); err != nil {
				return nil, badKey(key+".hostIP", fmt.Sprintf("%q is not an address", heddle.Clip(p.HostIP)),
					"give one of the host's addresses, or leave it out")
			}
			m.HostIP = m.HostIP.Unmap()
		}
		all = append(all, m)
	}
	return all, nil
}
