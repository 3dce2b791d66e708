package docker_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/docker"
	"github.com/heddle-network/heddle/test/world"
)

// TestDiedWhileMaking starts an agent whose earlier life was about to make a network
// for Docker, and had made it, or not: it goes, and no other one of such a name does.
// One that cannot go keeps no other.
func TestDiedWhileMaking(t *testing.T) {
	l := docker.NewBare(t, 1)
	h := l.Hosts[0]
	h.StartAgent(t)
	made, foreign := "docker-"+strings.Repeat("a", 12), "docker-"+strings.Repeat("b", 12)
	h.Heddle(t, "network", "create", made, "--mode", "bridge", "--subnet", "10.80.0.0/24")
	h.Heddle(t, "network", "create", foreign, "--mode", "bridge", "--subnet", "10.81.0.0/24")
	used := "docker-" + strings.Repeat("0", 12)
	h.Heddle(t, "network", "create", used, "--mode", "bridge", "--subnet", "10.82.0.0/24")
	h.Run(t, "ip", "netns", "add", "used")
	id := heddle.EndpointID{Container: "used", IfName: "eth0"}
	if _, err := h.Attach(t.Context(), heddle.AttachRequest{Network: used, ID: id, Netns: "/run/netns/used"}); err != nil {
		t.Fatal(err)
	}
	h.KillAgent(t)
	const record = "/var/lib/heddle/docker/networks.json"
	var all []string
	for _, letter := range []string{"0", "a", "c"} {
		id := strings.Repeat(letter, 64)
		all = append(all, fmt.Sprintf(`"%[1]s": {"dockerID": "%[1]s", "networkID": "", "provisional": true}`, id))
	}
	h.Run(t, "sh", "-ec", "mkdir -p "+path.Dir(record)+"; echo '{"+strings.Join(all, ",")+"}' >"+record)
	h.StartAgent(t)
	world.Within(t, time.Minute, "the network goes", func() error {
		var names []string
		all, err := h.Networks(t.Context())
		for _, n := range all {
			names = append(names, n.Name)
		}
		slices.Sort(names)
		if err == nil && !slices.Equal(names, []string{used, foreign}) {
			err = fmt.Errorf("networks %v", names)
		}
		return err
	})
	if text := h.Run(t, "cat", record); strings.Count(text, "dockerID") != 1 || !strings.Contains(text, strings.Repeat("0", 64)) {
		t.Errorf("%s: %s", record, text)
	}
	if _, err := h.Detach(t.Context(), id); err != nil {
		t.Error(err)
	}
	h.Heddle(t, "network", "delete", used)
	h.Heddle(t, "network", "delete", foreign)
}
