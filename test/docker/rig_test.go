package docker_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/heddle-network/heddle/test/docker"
	"github.com/heddle-network/heddle/test/soak"
)

func TestMain(m *testing.M) { os.Exit(docker.Main(m)) }

// TestRig has two dockerds that know nothing of each other, killed and started
// anew.
func TestRig(t *testing.T) {
	soak.Turn(t, 1)
	l := docker.New(t, 2)
	for _, h := range l.Hosts {
		h.Docker(t, "run", "--rm", "--network", "none", "box", "ip", "link", "show", "lo")
		h.Docker(t, "run", "-d", "--restart", "always", "--name", "one", "box", "sleep", "3600")
		h.KillDocker()
		h.StartDocker(t)
		if out := h.Docker(t, "ps", "--format", "{{.Names}}"); out != "one" {
			t.Errorf("%s runs %q", h.Name(), out)
		}
		h.StopDocker(t)
		h.StartDocker(t)
		h.Docker(t, "rm", "-f", "one")
	}
	if out := l.Hosts[0].Docker(t, "info", "--format", "{{.Name}}"); out != "host1" {
		t.Errorf("the first host's dockerd is of %s", fmt.Sprint(out))
	}
}
