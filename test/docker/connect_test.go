package docker_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/test/docker"
	"github.com/heddle-network/heddle/test/soak"
)

// TestReconnect gives a running container a network again and again: dockerd counts
// what its interfaces carry, and calls them what it does on networks of its own.
func TestReconnect(t *testing.T) {
	soak.Turn(t, 2)
	l := docker.New(t, 1)
	h := l.Hosts[0]
	for i, mode := range []string{"bridge", "routed"} {
		for j, name := range []string{mode + "-one", mode + "-two"} {
			h.Docker(t, "network", "create", "-d", "heddle", "--ipam-driver", "heddle", "-o", "mode="+mode, "-o", "masquerade=true", "--subnet", fmt.Sprintf("10.%d.%d.0/24", 64+i, j), name)
		}
	}
	for _, name := range []string{"docker-one", "docker-two"} {
		h.Docker(t, "network", "create", "-d", "bridge", name)
	}
	for _, step := range []string{"docker", "bridge", "routed"} {
		run(t, h, step, "--net", step+"-one")
	}
	for round := range 3 {
		for _, verb := range []string{"connect", "disconnect"} {
			for _, c := range []string{"docker", "bridge", "routed"} {
				h.Docker(t, "network", verb, c+"-two", c)
			}
			for _, c := range []string{"bridge", "routed"} {
				if got, want := interfaces(t, h, c), interfaces(t, h, "docker"); !slices.Equal(got, want) {
					t.Errorf("%s %d, mode %s: interfaces %v, with Docker's bridge driver %v", verb, round, c, got, want)
				}
			}
		}
	}
	for _, c := range []string{"bridge", "routed"} {
		h.Docker(t, "exec", c, "ping", "-c", "1", "-W", "10", l.Switches[0].Addr4.String())
	}
	// what cannot be counted is 0
	for line := range strings.Lines(h.Docker(t, "stats", "--no-stream", "--format", "{{.Name}} {{.NetIO}}", "bridge", "routed", "docker")) {
		if !regexp.MustCompile(`[1-9].* / `).MatchString(line) {
			t.Errorf("docker stats after its networks were disconnected: %s", line)
		}
	}
	h.Docker(t, "rm", "-f", "docker", "bridge", "routed")
	for _, c := range []string{"docker", "bridge", "routed"} {
		h.Docker(t, "network", "rm", c+"-one", c+"-two")
	}
	nothingLeft(t, l)
}

// interfaces are a container's names for its own.
func interfaces(t *testing.T, h *docker.Host, container string) []string {
	t.Helper()
	all := regexp.MustCompile(`eth[0-9]+`).FindAllString(h.Docker(t, "exec", container, "ip", "link"), -1)
	slices.Sort(all)
	return all
}
