package docker_test

import (
	"testing"

	"github.com/heddle-network/heddle/test/docker"
	"github.com/heddle-network/heddle/test/soak"
)

// TestAddressStays restarts containers, together and alone, and stops one while the
// agent is away: each has its address afterwards, and nothing is left.
func TestAddressStays(t *testing.T) {
	soak.Turn(t, 2)
	l := docker.New(t, 1)
	h := l.Hosts[0]
	h.Docker(t, "network", "create", "-d", "heddle", "--ipam-driver", "heddle", "-o", "mode=bridge", "--subnet", "10.41.0.0/24", "net")
	names := []string{"one", "two", "fixed"}
	h.Docker(t, "run", "-d", "--stop-signal", "KILL", "--net", "net", "--name", "one", "box", "sleep", "3600")
	h.Docker(t, "run", "-d", "--stop-signal", "KILL", "--net", "net", "--name", "two", "box", "sleep", "3600")
	h.Docker(t, "run", "-d", "--stop-signal", "KILL", "--net", "net", "--ip", "10.41.0.99", "--name", "fixed", "box", "sleep", "3600")
	addrs := func() string {
		all := ""
		for _, name := range names {
			all += h.Docker(t, "inspect", "--format", "{{.NetworkSettings.Networks.net.IPAddress}} ", name) + " "
		}
		return all
	}
	before := addrs()
	for _, args := range [][]string{{"restart", "one"}, {"restart", "one"}, {"restart", "two"}, {"stop", "one"}, {"stop", "two"}, {"start", "one"}, {"start", "two"}} {
		h.Docker(t, args...)
	}
	if now := addrs(); now != before {
		t.Errorf("the addresses were %s and are %s", before, now)
	}
	h.KillAgent(t)
	h.TryDocker("stop", "fixed") // it may complain that nobody answers
	h.StartAgent(t)
	h.Docker(t, "start", "fixed") // and not once the agent has found out
	if now := addrs(); now != before {
		t.Errorf("the addresses were %s and are %s", before, now)
	}
	h.Docker(t, append([]string{"rm", "-f"}, names...)...)
	h.Docker(t, "network", "rm", "net")
	nothingLeft(t, l)
}
