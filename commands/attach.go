package commands

import (
	"fmt"
	"maps"
	"slices"

	"github.com/heddle-network/heddle"
)

// Attach returns a request as the command that makes it.
func Attach(q heddle.AttachRequest) string {
	args := []string{"heddle", "attach", q.Network, "--id", q.ID.Container, "--ifname", q.ID.IfName}
	add := func(flag string, values ...string) {
		for _, v := range values {
			if v != "" {
				args = append(args, flag, v)
			}
		}
	}
	add("--netns", q.Netns)
	if q.TAP {
		args = append(args, "--tap")
	}
	for _, ip := range q.IPs {
		add("--ip", ip.String())
	}
	add("--mac", string(q.MAC))
	add("--nic", q.NIC)
	for _, p := range q.Ports {
		add("--publish", p.String())
	}
	for _, key := range slices.Sorted(maps.Keys(q.Labels)) {
		add("--label", key+"="+q.Labels[key])
	}
	add("--name", q.Name)
	add("--alias", q.Aliases...)
	if q.ResolvConf {
		args = append(args, "--resolv-conf")
	}
	if q.NoFastPath {
		args = append(args, "--no-fast-path")
	}
	if q.DefaultRoute != nil {
		args = append(args, fmt.Sprintf("--default-route=%t", *q.DefaultRoute))
	}
	return heddle.CommandLine(args)
}
