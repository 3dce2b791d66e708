package agent

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
)

// differences says in what a request is not like what is there: which setting, what it has, and
// what was asked for.
type differences []string

func (d *differences) compare(setting string, same bool, has, asked any) {
	if !same {
		*d = append(*d, fmt.Sprintf("%s (has %s, asked %s)", setting, settingText(has), settingText(asked)))
	}
}

// settingText writes a setting for an error; "none" where there is nothing.
func settingText(v any) string {
	text := strings.Trim(fmt.Sprint(v), "[]")
	if labels, is := v.(map[string]string); is {
		text = heddle.LabelText(labels)
	}
	if text == "0" {
		text = ""
	}
	return cmp.Or(heddle.Clip(text), "none")
}

func (d differences) String() string { return strings.Join(d, ", ") }

// networkDifferences compares an existing network with the one asked for.
func networkDifferences(has, asked heddle.Network) (d differences) {
	d.compare("mode", has.Mode == asked.Mode, has.Mode, asked.Mode)
	d.compare("subnets", slices.Equal(has.Subnets, asked.Subnets), has.Subnets, asked.Subnets)
	d.compare("gateways", slices.Equal(has.Gateways, asked.Gateways), has.Gateways, asked.Gateways)
	d.compare("ranges", slices.Equal(has.Ranges, asked.Ranges), has.Ranges, asked.Ranges)
	d.compare("reserved addresses", slices.Equal(has.Reserved, asked.Reserved), has.Reserved, asked.Reserved)
	d.compare("parent", has.Parent == asked.Parent, has.Parent, asked.Parent)
	d.compare("MTU", has.MTU == asked.MTU, has.MTU, asked.MTU)
	d.compare("internal", has.Internal == asked.Internal, has.Internal, asked.Internal)
	d.compare("labels", sameLabels(has.Labels, asked.Labels), has.Labels, asked.Labels)
	d.compare("options", maps.Equal(has.Options, asked.Options), has.Options, asked.Options)
	return d
}

// sameNetwork reports whether an existing network is the one asked for.
func sameNetwork(has, asked heddle.Network) bool { return len(networkDifferences(has, asked)) == 0 }

// requestDifferences compares what an endpoint was attached with, on a network, and a request for the
// same ID on the network n. Which container it is, is compared elsewhere.
func requestDifferences(has record, n heddle.Network, asked heddle.AttachRequest) (d differences) {
	old := has.Request
	d.compare("network", has.Endpoint.Network == n.ID, has.Endpoint.NetworkName, n.Name)
	d.compare("addresses", slices.Equal(old.IPs, asked.IPs), anyOf(old.IPs), anyOf(asked.IPs))
	d.compare("MAC address", old.MAC == asked.MAC, anyOf(old.MAC), anyOf(asked.MAC))
	d.compare("NIC", old.NIC == asked.NIC, anyOf(old.NIC), anyOf(asked.NIC))
	d.compare("machine that it comes from", asked.MoveFrom == "" || old.MoveFrom == asked.MoveFrom, old.MoveFrom, asked.MoveFrom)
	d.compare("labels", sameLabels(old.Labels, asked.Labels), old.Labels, asked.Labels)
	d.compare("name", old.Name == asked.Name, old.Name, asked.Name)
	d.compare("aliases", slices.Equal(old.Aliases, asked.Aliases), old.Aliases, asked.Aliases)
	d.compare("resolv.conf", old.ResolvConf == asked.ResolvConf, old.ResolvConf, asked.ResolvConf)
	d.compare("TAP device", old.TAP == asked.TAP, old.TAP, asked.TAP)
	d.compare("several queues", old.MultiQueue == asked.MultiQueue, old.MultiQueue, asked.MultiQueue)
	d.compare("link alone", old.LinkOnly == asked.LinkOnly, old.LinkOnly, asked.LinkOnly)
	d.compare("no fast path", old.NoFastPath == asked.NoFastPath, old.NoFastPath, asked.NoFastPath)
	d.compare("limits", old.Limits == asked.Limits, old.Limits, asked.Limits)
	return d
}

// anyOf is a setting of which any value will do if none was asked for.
func anyOf(v any) any {
	if settingText(v) == "none" {
		return "any"
	}
	return v
}

// endpointDiffers refuses a request that is not like the endpoint that is there.
func endpointDiffers(id heddle.EndpointID, d differences) error {
	cause := "it exists with other settings: " + d.String()
	if len(d) == 0 {
		cause = "it exists, and its container has taken it in another way"
	}
	return heddle.Errorf(heddle.EndpointDiffers, "attach endpoint", id.String(), cause,
		"detach the endpoint first ('heddle detach "+id.String()+"')")
}
