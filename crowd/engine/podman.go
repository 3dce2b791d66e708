package engine

import (
	"context"

	"github.com/heddle-network/heddle"
)

// podman makes containers by the podman command. Its network is one of the driver heddle (netavark), or a CNI configuration.
func podman(s Setting) maker {
	return oci{Setting: s, debian: "podman", knows: knownToPodman, kill: []string{"--force", "--time", "0"}, removes: several(),
		format: "{{.State.Pid}} {{.Id}}", endpoint: podmanEndpoint}
}

func knownToPodman(ctx context.Context, o oci) error {
	if _, err := o.do(ctx, "network", "inspect", o.Network); err != nil {
		return heddle.Wrap(heddle.NoNetwork, "find in Podman network", o.Network, err,
			"make it with 'podman network create --driver heddle', or name it in a CNI configuration where Podman has no netavark")
	}
	return nil
}

func podmanEndpoint(said string) (heddle.EndpointID, error) {
	id := heddle.EndpointID{Container: said, IfName: "eth0"}
	return id, id.Check()
}
