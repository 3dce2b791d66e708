package heddle

import (
	"net/netip"

	"github.com/heddle-network/heddle/lazyregexp"
)

// DockerNetwork is what Docker knows about a network besides its driver. When a network
// was created in the dockerd of another host, the agent passes this to its own dockerd
// (Docker Engine API, POST /networks/create).
type DockerNetwork struct {
	Labels map[string]string `json:"labels,omitempty"`
	// Options are the network driver's options, IPAMOptions those of the IPAM driver, as
	// the user gave them.
	Options     map[string]string `json:"options,omitempty"`
	IPAMOptions map[string]string `json:"ipamOptions,omitempty"`
	Attachable  bool              `json:"attachable,omitempty"`
	// Pools are the subnets for which Docker has settings that Network has no field for.
	Pools []DockerPool `json:"pools,omitempty"`
}

// DockerPool is one subnet of a network as Docker has it.
type DockerPool struct {
	Subnet netip.Prefix `json:"subnet"`
	Range  netip.Prefix `json:"range,omitzero"`
	// Reserved addresses by the names that were given to them (--aux-address).
	Reserved map[string]netip.Addr `json:"reserved,omitempty"`
}

// ProvisionalDockerName is the temporary name of a network that Docker has asked for.
// Docker's requests do not carry the network's name; it becomes known later.
func ProvisionalDockerName(dockerID string) string {
	return "docker-" + ShortDockerID(dockerID)
}

// ShortDockerID is an id as the docker command shows it.
func ShortDockerID(id string) string { return id[:min(len(id), ShortID)] }

var provisionalDockerName = lazyregexp.New(`^docker-[0-9a-f]{12}$`)

// HasProvisionalName reports whether a network bears such a name.
func (n Network) HasProvisionalName() bool { return provisionalDockerName.MatchString(n.Name) }
