package names_test

import (
	"slices"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/names"
)

func TestPorts(t *testing.T) {
	mapped := []heddle.PortMapping{{HostPort: 8080, ContainerPort: 80, Protocol: "tcp"}, {HostPort: 53, ContainerPort: 53, Protocol: "udp"},
		{HostPort: 8081, ContainerPort: 80, Protocol: "tcp"}}
	if got, want := names.Ports(mapped), []string{"53/udp", "80/tcp"}; !slices.Equal(got, want) || names.BadPorts(got) != "" {
		t.Errorf("ports are %q, want %q (%s)", got, want, names.BadPorts(got))
	}
	for i := range uint16(200) {
		mapped = append(mapped, heddle.PortMapping{HostPort: 1000 + i, ContainerPort: 1000 + i, Protocol: "tcp"})
	}
	if got := names.Ports(mapped); len(got) != names.MaxPorts || names.BadPorts(got) != "" {
		t.Errorf("of many ports, %d are told (%s)", len(got), names.BadPorts(got))
	}
	for _, bad := range [][]string{{""}, {"80"}, {"0/tcp"}, {"080/tcp"}, {"70000/tcp"}, {"80/icmp"}, {"80/tcp", "80/tcp"}, {"81/tcp", "80/tcp"},
		slices.Repeat([]string{"80/tcp"}, names.MaxPorts+1)} {
		if names.BadPorts(bad) == "" {
			t.Errorf("%q is taken on", bad)
		}
	}
}
