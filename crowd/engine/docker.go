package engine

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/resolver/nameservers"
)

// docker makes containers by the docker command. Its network is one of the network driver heddle.
func docker(s Setting) maker {
	// dockerd 20.10 loses count of a network's endpoints when several go at once, and never removes the network then.
	return oci{Setting: s, debian: "docker.io", knows: knownToDocker, kill: []string{"--force"}, removes: 1,
		format: fmt.Sprintf(`{{.State.Pid}} {{with index .NetworkSettings.Networks %q}}{{.EndpointID}}{{end}}`, s.Network), endpoint: dockerEndpoint,
		// A container asks Docker's own resolver, which asks the network's.
		resolvers: func(pid int) []netip.Addr {
			return nameservers.Read(fmt.Sprintf("/proc/%d/root/etc/resolv.conf", pid), "")
		}}
}

func knownToDocker(ctx context.Context, o oci) error {
	if _, err := o.do(ctx, "version", "--format", "{{.Server.Version}}"); err != nil {
		return heddle.Wrap(heddle.CrowdFailed, "ask client", o.As, err, "start dockerd, or choose another --as")
	}
	said, err := o.do(ctx, "network", "inspect", "--format", "{{.Driver}} {{.IPAM.Driver}}", o.Network)
	remedy := "make the network with 'docker network create -d heddle --ipam-driver heddle'"
	if err != nil {
		return heddle.Wrap(heddle.NoNetwork, "find in Docker network", o.Network, err, remedy)
	}
	driver, addresses, _ := strings.Cut(said, " ")
	switch {
	case !ours(driver):
		return heddle.Errorf(heddle.NoNetwork, "use Docker's network", o.Network, "it is of driver "+driver, remedy)
	case !ours(addresses): // which would give away those that services have
		return heddle.Errorf(heddle.NoNetwork, "use Docker's network", o.Network, "its addresses are of driver "+addresses, remedy)
	}
	return nil
}

// ours reports whether a driver is heddle; a plugin's has a version.
func ours(driver string) bool {
	name, _, _ := strings.Cut(driver, ":")
	return name == "heddle"
}

// dockerEndpoint is the agent's ID for an endpoint of Docker, which does not tell it the interface's number.
func dockerEndpoint(said string) (heddle.EndpointID, error) {
	id := heddle.EndpointID{Container: said, IfName: "eth"}
	return id, id.Check()
}
