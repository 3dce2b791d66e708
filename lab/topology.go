package lab

import (
	"net/netip"
	"time"

	"github.com/heddle-network/heddle/impair"
)

// Topology describes a whole lab. A topology file holds one. The zero value of each field
// means its default, which the field's comment names.
type Topology struct {
	// Name identifies the lab; "lab".
	Name string `json:"name" yaml:"name"`
	// MTU and Rate of every wire that does not say otherwise; 1500, unlimited.
	MTU  int         `json:"mtu" yaml:"mtu"`
	Rate impair.Rate `json:"rate" yaml:"rate"`
	// Cut turns segmentation offload (TSO, GSO, GRO) off at both ends of every wire, so that
	// no frame is larger than the MTU, as on a cable.
	Cut bool `json:"cut,omitempty" yaml:"cut"`
	// Merge turns GRO on in the hosts, as drivers of network cards do.
	Merge bool `json:"merge,omitempty" yaml:"merge"`
	// Sysctls are set in the network namespace of every host ("net.…" only,
	// others would change the machine).
	Sysctls map[string]string `json:"sysctls,omitempty" yaml:"sysctls"`
	// Store joins the agents to a cluster: StoreEmbedded or StoreEtcd.
	Store string `json:"store,omitempty" yaml:"store"`
	// Etcd names the hosts that run a member of one etcd cluster, without TLS, on the usual
	// ports.
	Etcd []string `json:"etcd,omitempty" yaml:"etcd"`
	// Agent holds the settings for all agents.
	Agent Agent `json:"agent" yaml:"agent"`
	// Machine makes every host and router without a Machine of its own a virtual machine with
	// that stock kernel, such as 6.1.
	Machine string `json:"machine,omitempty" yaml:"machine"`
	// Switches; one named "switch".
	Switches []Switch `json:"switches" yaml:"switches"`
	// Hosts are the hosts and routers, in the order in which they are numbered.
	Hosts []Node `json:"hosts" yaml:"hosts"`
	// Dir holds the labs' folders; DefaultDir.
	Dir string `json:"dir" yaml:"-"`
	// Bound removes the lab when the process that raised it ends, however it ends. A lab that is up already is
	// not taken.
	Bound bool `json:"-" yaml:"-"`
	// Progress is called at each step.
	Progress func(string) `json:"-" yaml:"-"`
}

// The stores of a cluster of agents.
const (
	StoreEmbedded = "embedded" // the first host's agent makes it, the others join with its token
	StoreEtcd     = "etcd"     // the etcd that the lab runs itself
)

// Namespaces, as a Node's Machine, makes the node a set of namespaces even if the topology's
// Machine is set.
const Namespaces = "none"

// Switch joins hosts. It has the first address of each of its subnets.
type Switch struct {
	Name string `json:"name" yaml:"name"`
	// Subnets are one of IPv4, one of IPv6, or both; 172.31.240.0/24 and
	// fd99:172:31:240::/64, and for each further switch one more than 240.
	Subnets []netip.Prefix `json:"subnets" yaml:"subnets"`
	// MTU of the wires to it; the topology's.
	MTU int `json:"mtu" yaml:"mtu"`
}

// Node is a host, or a router: a host that forwards and has no agent.
type Node struct {
	Name   string `json:"name" yaml:"name"`
	Router bool   `json:"router,omitempty" yaml:"router"`
	// Machine is the kernel of a virtual machine: 6.1 or 6.12, as fetched by
	// 'make vm-kernels'; the topology's. Namespaces means a host on this machine's kernel.
	Machine string `json:"machine,omitempty" yaml:"machine"`
	// NICs are the ends of its wires: eth0, eth1 and so on; one, at the first switch.
	NICs []NIC `json:"nics" yaml:"nics"`
	// Spare is the number of further NICs on the first NIC's switch. They have
	// no address and are down: they are for containers.
	Spare int `json:"spare,omitempty" yaml:"spare"`
	// Slots is the number of slots of a virtual machine for NICs that are plugged in while it
	// runs, 0 to MaxSlots; see Host.QMP.
	Slots int `json:"slots,omitempty" yaml:"slots"`
	// IOMMU says that a virtual machine has one, and that its NICs are behind it. A program in it can have a NIC without a driver of the
	// kernel's then (vfio-pci).
	IOMMU bool `json:"iommu,omitempty" yaml:"iommu"`
	// ICount says that the clock of an emulated virtual machine goes by the instructions that it executes, InstructionTime for each, and
	// by real time while it has nothing to do (QEMU's -icount). Its CPU time is a count of instructions then, however busy this machine is.
	ICount bool `json:"icount,omitempty" yaml:"icount"`
	// CPUs is the number of processors of a virtual machine, 1 to 8; one.
	CPUs    int               `json:"cpus,omitempty" yaml:"cpus"`
	Sysctls map[string]string `json:"sysctls,omitempty" yaml:"sysctls"`
	Agent   Agent             `json:"agent" yaml:"agent"`
	// VPCs are virtual private clouds on the host, each with an agent of its own (heddled --vpc NAME).
	VPCs    []string `json:"vpcs,omitempty" yaml:"vpcs"`
	Daemons []Daemon `json:"daemons,omitempty" yaml:"daemons"`
}

// NIC is one end of a wire, at a host.
type NIC struct {
	Switch string `json:"switch" yaml:"switch"`
	// Addresses; in each subnet of the switch the address 10 + the host's number, so that
	// the first host has .11.
	Addresses []netip.Prefix `json:"addresses" yaml:"addresses"`
	// MTU and Rate of the wire, at both ends; the switch's and the topology's.
	MTU  int         `json:"mtu" yaml:"mtu"`
	Rate impair.Rate `json:"rate" yaml:"rate"`
}

// Agent says how an agent is started. A host's arguments and environment come after those of
// the topology.
type Agent struct {
	// Command starts it; heddled beside the running program. The flags --name,
	// --run-dir and --state-dir and then Args are appended.
	Command     []string          `json:"command,omitempty" yaml:"command"`
	Args        []string          `json:"args,omitempty" yaml:"args"`
	Environment map[string]string `json:"environment,omitempty" yaml:"environment"`
	// Off makes a host without an agent. Later leaves its start to Host.StartAgent.
	Off   bool `json:"off,omitempty" yaml:"off"`
	Later bool `json:"later,omitempty" yaml:"later"`
}

// Daemon is a program that runs in a host as long as the lab is up, or once. The daemons of a
// host start in order, each when the previous one is ready. All hosts start theirs at the same
// time.
type Daemon struct {
	Name        string            `json:"name" yaml:"name"`
	Command     []string          `json:"command" yaml:"command"`
	Environment map[string]string `json:"environment,omitempty" yaml:"environment"`
	// AfterAgent starts it after the agents.
	AfterAgent bool  `json:"afterAgent,omitempty" yaml:"afterAgent"`
	Ready      Ready `json:"ready" yaml:"ready"`
}

// Ready says when a daemon is ready: at once, or when all given conditions hold.
type Ready struct {
	// TCP is a port on which a program listens in the host.
	TCP uint16 `json:"tcp,omitempty" yaml:"tcp"`
	// Unix is the path, in the host, of a socket that accepts connections.
	Unix string `json:"unix,omitempty" yaml:"unix"`
	// Exit is set for a command that must end with status 0.
	Exit bool `json:"exit,omitempty" yaml:"exit"`
	// Command is run in the host again and again until it succeeds.
	Command []string `json:"command,omitempty" yaml:"command"`
	// Within is the time limit; 30s.
	Within time.Duration `json:"within,omitempty" yaml:"within"`
}
