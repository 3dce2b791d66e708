package lab

import (
	"net/netip"
	"time"
)

// Topology is a whole lab in words: what a topology file holds. The zero value
// of each field means its default.
type Topology struct {
	// Name tells several labs apart; "lab".
	Name string `json:"name" yaml:"name"`
	// MTU and Rate of every wire that does not say otherwise; 1500, unlimited.
	MTU  int  `json:"mtu" yaml:"mtu"`
	Rate Rate `json:"rate" yaml:"rate"`
	// Cut turns segmentation offload (TSO, GSO, GRO) off at both ends of every
	// wire, so that each frame crosses by itself, as on a cable.
	Cut bool `json:"cut,omitempty" yaml:"cut"`
	// Merge makes hosts merge what arrives by such wires (GRO), as the drivers of
	// network cards do.
	Merge bool `json:"merge,omitempty" yaml:"merge"`
	// Sysctls are set in the network namespace of every host ("net.…" only,
	// others would change the machine).
	Sysctls map[string]string `json:"sysctls,omitempty" yaml:"sysctls"`
	// Store joins the agents to a cluster: StoreEmbedded or StoreEtcd.
	Store string `json:"store,omitempty" yaml:"store"`
	// Etcd names the hosts that run a member of one etcd cluster, in clear, on
	// the usual ports.
	Etcd []string `json:"etcd,omitempty" yaml:"etcd"`
	// Agent is what all agents have in common.
	Agent Agent `json:"agent" yaml:"agent"`
	// Machine makes every host and router that says nothing else a virtual
	// machine with that stock kernel, such as 6.1.
	Machine string `json:"machine,omitempty" yaml:"machine"`
	// Switches; one named "switch".
	Switches []Switch `json:"switches" yaml:"switches"`
	// Hosts are the hosts and routers, in the order in which they are numbered.
	Hosts []Node `json:"hosts" yaml:"hosts"`
	// Dir holds the labs' folders; DefaultDir.
	Dir string `json:"dir" yaml:"-"`
	// Progress is told each step.
	Progress func(string) `json:"-" yaml:"-"`
}

// The stores of a cluster of agents.
const (
	StoreEmbedded = "embedded" // the first host's agent makes it, the others join with its token
	StoreEtcd     = "etcd"     // the etcd that the lab runs itself
)

// Namespaces as a Node's Machine makes it a set of namespaces, whatever the
// topology says for all.
const Namespaces = "none"

// Switch joins hosts. It answers to the first address of its subnets.
type Switch struct {
	Name string `json:"name" yaml:"name"`
	// Subnets are one of IPv4, one of IPv6, or both; 172.31.240.0/24 and
	// fd99:172:31:240::/64, and for each further switch one more than 240.
	Subnets []netip.Prefix `json:"subnets" yaml:"subnets"`
	// MTU of the wires to it; the topology's.
	MTU int `json:"mtu" yaml:"mtu"`
}

// Node is a host, or a router: one without agent that forwards.
type Node struct {
	Name   string `json:"name" yaml:"name"`
	Router bool   `json:"router,omitempty" yaml:"router"`
	// Machine is the kernel of a virtual machine: 6.1 or 6.12, as fetched by
	// 'make vm-kernels'; the topology's. Namespaces is a host of this machine's
	// kernel.
	Machine string `json:"machine,omitempty" yaml:"machine"`
	// NICs are its wires: eth0, eth1 and so on; one, to the first switch.
	NICs []NIC `json:"nics" yaml:"nics"`
	// Spare is the number of further NICs on the first NIC's switch. They have
	// no address and are down: they are for containers.
	Spare   int               `json:"spare,omitempty" yaml:"spare"`
	Sysctls map[string]string `json:"sysctls,omitempty" yaml:"sysctls"`
	Agent   Agent             `json:"agent" yaml:"agent"`
	Daemons []Daemon          `json:"daemons,omitempty" yaml:"daemons"`
}

// NIC is one end of a wire, at a host.
type NIC struct {
	Switch string `json:"switch" yaml:"switch"`
	// Addresses; of each subnet of the switch the one with 10 + the host's
	// number, so that the first host has .11.
	Addresses []netip.Prefix `json:"addresses" yaml:"addresses"`
	// MTU and Rate of the wire, at both ends; the switch's and the topology's.
	MTU  int  `json:"mtu" yaml:"mtu"`
	Rate Rate `json:"rate" yaml:"rate"`
}

// Agent says how an agent is started. A host's arguments and environment come
// after those of the topology.
type Agent struct {
	// Command starts it; heddled beside the running program. The flags --name,
	// --run-dir and --state-dir and then Args are appended.
	Command     []string          `json:"command,omitempty" yaml:"command"`
	Args        []string          `json:"args,omitempty" yaml:"args"`
	Environment map[string]string `json:"environment,omitempty" yaml:"environment"`
	// Off leaves the host without one. Later leaves it to Host.StartAgent.
	Off   bool `json:"off,omitempty" yaml:"off"`
	Later bool `json:"later,omitempty" yaml:"later"`
}

// Daemon is a program that runs in a host as long as the lab is up, or once.
// Those of a host start in their order, each when the one before is ready; all
// hosts at the same time.
type Daemon struct {
	Name        string            `json:"name" yaml:"name"`
	Command     []string          `json:"command" yaml:"command"`
	Environment map[string]string `json:"environment,omitempty" yaml:"environment"`
	// AfterAgent starts it when the agents are up, not before them.
	AfterAgent bool  `json:"afterAgent,omitempty" yaml:"afterAgent"`
	Ready      Ready `json:"ready" yaml:"ready"`
}

// Ready says when a daemon is ready: at once, or when all that is given holds.
type Ready struct {
	// TCP is a port on which somebody listens in the host.
	TCP uint16 `json:"tcp,omitempty" yaml:"tcp"`
	// Unix is a socket that takes connections, as a path in the host.
	Unix string `json:"unix,omitempty" yaml:"unix"`
	// Exit is set for a command that shall end, with status 0.
	Exit bool `json:"exit,omitempty" yaml:"exit"`
	// Command succeeds, run in the host again and again.
	Command []string `json:"command,omitempty" yaml:"command"`
	// Within is how long that may take; 30s.
	Within time.Duration `json:"within,omitempty" yaml:"within"`
}
