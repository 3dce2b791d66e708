package heddle

import (
	"net/netip"
	"regexp"
)

// DockerNetwork is what Docker knows of a network beside its driver: what a host's
// agent tells its own dockerd of a network that was created in another's (Docker
// Engine API, POST /networks/create).
type DockerNetwork struct {
	Labels map[string]string `json:"labels,omitempty"`
	// Options are the driver's, IPAMOptions those of its addresses, as they were
	// given.
	Options     map[string]string `json:"options,omitempty"`
	IPAMOptions map[string]string `json:"ipamOptions,omitempty"`
	Attachable  bool              `json:"attachable,omitempty"`
	// Pools are the subnets of which more is known than the network says.
	Pools []DockerPool `json:"pools,omitempty"`
}

// DockerPool is one subnet of a network as Docker has it.
type DockerPool struct {
	Subnet netip.Prefix `json:"subnet"`
	Range  netip.Prefix `json:"range,omitzero"`
	// Reserved addresses by the names that were given to them (--aux-address).
	Reserved map[string]netip.Addr `json:"reserved,omitempty"`
}

// ProvisionalDockerName is that of a network that Docker has asked for, until
// Docker's own name for it is known, which no request carries.
func ProvisionalDockerName(dockerID string) string {
	return "docker-" + ShortDockerID(dockerID)
}

// ShortDockerID is an id as the docker command shows it.
func ShortDockerID(id string) string { return id[:min(len(id), 12)] }

var provisionalDockerName = regexp.MustCompile(`^docker-[0-9a-f]{12}$`)

// HasProvisionalName reports whether a network bears such a name.
func (n Network) HasProvisionalName() bool { return provisionalDockerName.MatchString(n.Name) }
