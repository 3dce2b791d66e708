package main

import (
	"github.com/spf13/pflag"

	"github.com/heddle-network/heddle"
)

// attachFlags are the flags of attach as given, before they are parsed.
type attachFlags struct {
	netns, id, ifname, mac, nic, name, moveFrom                            string
	pid                                                                    int
	ips, ports, labels, aliases                                            []string
	limits                                                                 limitFlags
	tap, multiQueue, handover, defaultRoute, force, resolvConf, noFastPath bool
}

func (x *attachFlags) define(f *pflag.FlagSet) {
	f.StringVar(&x.netns, "netns", "", "the container's network namespace: a `path`, or a name under "+netnsDir)
	f.IntVar(&x.pid, "pid", 0, "a process in the container")
	f.BoolVar(&x.tap, "tap", false, "make a TAP device for a virtual machine, in place of a container's interface")
	f.BoolVar(&x.multiQueue, "multi-queue", false, "make that device for an emulator that opens several queues (queues=N in QEMU), and at least two")
	f.BoolVar(&x.handover, "handover", false, "leave the interface on the host, for a runtime that moves it into --netns itself (linux.netDevices of OCI)")
	f.StringVar(&x.id, "id", "", "the container's id; by default the namespace's name, or pid-N")
	f.StringVar(&x.ifname, "ifname", "eth0", "the interface's `name` in the container")
	f.StringArrayVar(&x.ips, "ip", nil, "an `address` to have, one of each family")
	f.StringVar(&x.mac, "mac", "", "the MAC `address` to have")
	f.StringVar(&x.nic, "nic", "", "which of the network's NICs to get: a `name` or MAC address (mode direct)")
	f.StringVar(&x.moveFrom, "move-from", "", "take over the NIC of the same id from another `machine` of the hypervisor")
	f.BoolVar(&x.force, "force", false, "take the NIC with the host's default route or your SSH connection all the same")
	f.StringArrayVar(&x.ports, "publish", nil, "publish a port or a range of them: `[IP:][HOST:]CONTAINER[/udp|/sctp]`")
	x.limits.define(f)
	f.StringArrayVar(&x.labels, "label", nil, "`K=V`, a word of your own by which lists and events are filtered")
	f.StringVar(&x.name, "name", "", "the `name` by which other containers of the network find it")
	f.StringArrayVar(&x.aliases, "alias", nil, "a further `name`, which several containers may have")
	f.BoolVar(&x.resolvConf, "resolv-conf", false, "write "+confPath+", which 'ip netns exec' shows as /etc/resolv.conf, until the detach")
	f.BoolVar(&x.defaultRoute, "default-route", false, "lead the container's default route through this network, or with =false never; by default the first network that can has it")
	f.BoolVar(&x.noFastPath, "no-fast-path", false, "lead all its packets through the host's stack, since other software shapes or filters them at its host end")
}

// request parses the flags, as given.
func (x *attachFlags) request(network string, given *pflag.FlagSet) (q heddle.AttachRequest, err error) {
	q = heddle.AttachRequest{Network: network, Owner: "cli", NIC: x.nic, MoveFrom: x.moveFrom, Force: x.force, SSH: sshServer(), TAP: x.tap, MultiQueue: x.multiQueue, Handover: x.handover, LinkOnly: x.handover, ResolvConf: x.resolvConf, NoFastPath: x.noFastPath}
	if given.Changed("default-route") {
		q.DefaultRoute = &x.defaultRoute
	}
	if err := heddle.CheckNetworkName(network); err != nil {
		return q, err
	}
	if q.Netns, err = findNetns(x.netns, x.pid); err != nil {
		return q, err
	}
	if x.id == "" && x.tap {
		return q, heddle.Errorf(heddle.BadArgument, "attach endpoint with a TAP device to network", network, "a virtual machine has no namespace by whose name the endpoint could be known",
			"give it a name with --id")
	}
	if x.id == "" && q.Netns == "" {
		return q, heddle.Errorf(heddle.BadArgument, "attach endpoint to network", network, "neither --netns nor --pid is given",
			"give one of them")
	}
	q.ID = heddle.EndpointID{Container: x.id, IfName: x.ifname}
	if x.id == "" {
		q.ID.Container = defaultContainerID(q.Netns)
	}
	if err := q.ID.Check(); err != nil {
		return q, err
	}
	if q.IPs, err = parseAddrs("--ip", x.ips); err != nil {
		return q, err
	}
	if x.mac != "" {
		if q.MAC, err = heddle.ParseMAC(x.mac); err != nil {
			return q, err
		}
	}
	if q.Labels, err = heddle.ParseLabels(x.labels); err != nil {
		return q, err
	}
	if q.Name, q.Aliases, err = heddle.CheckNames(q.ID.String(), x.name, x.aliases); err != nil {
		return q, err
	}
	change, err := x.limits.change()
	if err != nil {
		return q, err
	}
	q.Limits = change.Apply(q.Limits)
	q.Ports, err = parsePublished(x.ports)
	return q, err
}
