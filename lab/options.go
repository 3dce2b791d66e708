package lab

import (
	"cmp"
	"context"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle/impair"
)

// Options describe a lab of equal hosts on one switch. They are the short form of a Topology.
// The zero value of each means its default, which its comment names.
type Options struct {
	// Name identifies the lab; "lab".
	Name string `json:"name"`
	// Hosts is the number of hosts; 2.
	Hosts int `json:"hosts"`
	// MTU of every host's wire; 1500. HostMTU has exceptions by host name.
	MTU     int            `json:"mtu"`
	HostMTU map[string]int `json:"hostMTU,omitempty"`
	// Rate in bits a second of every wire, each way; 0 leaves it unlimited.
	Rate     uint64            `json:"rate,omitempty"`
	HostRate map[string]uint64 `json:"hostRate,omitempty"`
	// Cut turns segmentation offload (TSO, GSO, GRO) off at both ends of every wire, so that
	// no frame is larger than the MTU, as on a cable.
	Cut bool `json:"cut,omitempty"`
	// Merge turns GRO on in the hosts.
	Merge bool `json:"merge,omitempty"`
	// NICs is the number of spare NICs of each host, with wires of their own.
	NICs int `json:"nics,omitempty"`
	// Subnet4 and Subnet6 are the wire's subnets; 172.31.240.0/24 and
	// fd99:172:31:240::/64. The switch has .1, host i has .10+i.
	Subnet4 netip.Prefix `json:"subnet4"`
	Subnet6 netip.Prefix `json:"subnet6"`
	// AgentCommand starts the agent; heddled beside the running program. The
	// flags --name, --run-dir and --state-dir and then AgentArgs are appended.
	AgentCommand []string `json:"agentCommand,omitempty"`
	AgentArgs    []string `json:"agentArgs,omitempty"`
	// HostAgentArgs are appended for single hosts, by host name.
	HostAgentArgs map[string][]string `json:"hostAgentArgs,omitempty"`
	// NoAgent makes hosts without agents. AgentsLater does not start the agents: the caller
	// does, with Host.StartAgent.
	NoAgent     bool `json:"noAgent,omitempty"`
	AgentsLater bool `json:"agentsLater,omitempty"`
	// Machine makes the hosts virtual machines with that stock kernel: 6.1, 6.12.
	Machine string `json:"machine,omitempty"`
	// Store is the agents' store: none, or StoreEmbedded.
	Store string `json:"store,omitempty"`
	// Dir holds the labs' folders; DefaultDir.
	Dir string `json:"dir"`
	// Sysctls are set in each host's network namespace ("net.…" only, others
	// would change the machine).
	Sysctls map[string]string `json:"sysctls,omitempty"`
	// Progress is called at each step.
	Progress func(string) `json:"-"`
}

// Up makes a lab or nothing, as Raise does.
func Up(ctx context.Context, o Options) (*Lab, error) {
	t, err := o.Topology()
	if err != nil {
		return nil, err
	}
	return Raise(ctx, t)
}

func (o Options) defaults() Options {
	setDefault(&o.Hosts, 2)
	setDefault(&o.Subnet4, defaultSubnet4)
	setDefault(&o.Subnet6, defaultSubnet6)
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Topology makes a Topology from the options. It checks only what a Topology cannot express;
// Raise checks the rest.
func (o Options) Topology() (Topology, error) {
	o = o.defaults()
	if err := checkHostCount(o.Hosts); err != nil {
		return Topology{}, err
	}
	t := Topology{Name: o.Name, MTU: o.MTU, Rate: impair.Rate(o.Rate), Cut: o.Cut, Merge: o.Merge, Sysctls: o.Sysctls, Machine: o.Machine, Store: o.Store, Dir: o.Dir, Progress: o.Progress,
		Agent:    Agent{Command: o.AgentCommand, Args: o.AgentArgs, Off: o.NoAgent, Later: o.AgentsLater},
		Switches: []Switch{{Name: SwitchName, Subnets: carried(cmp.Or(o.MTU, 1500), []netip.Prefix{o.Subnet4, o.Subnet6})}}}
	for i := range o.Hosts {
		name := hostName(i)
		nic := NIC{Switch: SwitchName, MTU: o.HostMTU[name]}
		if rate, said := o.HostRate[name]; said {
			nic.Rate = impair.Rate(rate)
			setDefault(&nic.Rate, impair.Unlimited)
		}
		t.Hosts = append(t.Hosts, Node{Name: name, NICs: []NIC{nic}, Spare: o.NICs, Agent: Agent{Args: o.HostAgentArgs[name]}})
	}
	return t, o.checkNames(t)
}

// checkNames refuses settings for hosts that do not exist.
func (o Options) checkNames(t Topology) error {
	for what, names := range map[string][]string{"MTU": keys(o.HostMTU), "rate": keys(o.HostRate), "agent arguments": keys(o.HostAgentArgs)} {
		for _, name := range names {
			if !slices.ContainsFunc(t.Hosts, func(n Node) bool { return n.Name == name }) {
				return refuse("set "+what+" of host", name, "the lab has no such host", "name one of its hosts")
			}
		}
	}
	return nil
}

func keys[V any](m map[string]V) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}
