package docker_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/docker"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// TestStorm creates, runs, connects, disconnects and removes on three hosts at
// once, while agents and dockerds are killed. HEDDLE_SEED repeats one.
func TestStorm(t *testing.T) {
	soak.Turn(t, 1)
	rage(t, 4)
}

// TestSoakStorm is the full scale.
func TestSoakStorm(t *testing.T) {
	soak.Need(t, "the full scale takes an hour")
	rage(t, 67) // on three hosts: 201
}

// rage lets every host go through so many runs.
func rage(t *testing.T, runs int) {
	seed := rand.Uint64N(1e9)
	if text := os.Getenv("HEDDLE_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	t.Logf("HEDDLE_SEED=%d", seed)
	l := docker.New(t, 3)
	l.Hosts[0].Docker(t, "network", "create", "-d", "heddle", "--ipam-driver", "heddle", "--subnet", "10.90.0.0/20", "common")
	l.Everywhere(t, "network common", func(h *docker.Host) error { _, err := h.TryDocker("network", "inspect", "common"); return err })
	var all sync.WaitGroup
	for i, h := range l.Hosts {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		// the first host has the store: its agent dies too, and comes back
		all.Go(func() {
			for n := range runs {
				kill := r.IntN(4)
				if kill < 2 {
					killed := make(chan bool)
					go func() {
						defer close(killed)
						time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
						disturb(t, h, kill)
					}()
					once(h, i, n)
					<-killed
				} else {
					once(h, i, n)
				}
			}
		})
	}
	all.Wait()
	for _, h := range l.Hosts {
		revive(t, h)
		bury(t, h)
	}
	for _, h := range l.Hosts {
		quietAudit(t, h, "the storm")
		agreed(t, h)
	}
	l.Hosts[0].Docker(t, "network", "rm", "common")
	for _, h := range l.Hosts {
		quietAudit(t, h, "the end")
	}
}

func disturb(t *testing.T, h *docker.Host, what int) {
	if what == 0 {
		h.KillAgent(t)
		h.StartAgent(t)
		return
	}
	h.KillDocker()
	revive(t, h)
}

// revive starts dockerd. Its own containerd, which outlives it for a moment, may
// keep the first new one from coming up.
func revive(t *testing.T, h *docker.Host) {
	t.Helper()
	world.Within(t, backTime, "dockerd of "+h.Name()+" starts", h.TryStartDocker)
}

// once is one run. Any command may fail under the storm; what must not happen is
// seen afterwards.
func once(h *docker.Host, host, n int) {
	name, net := fmt.Sprintf("c%d", n), fmt.Sprintf("own%d-%d", host, n)
	h.TryDocker("network", "create", "-d", "heddle", "--ipam-driver", "heddle", "-o", "mode=bridge", net)
	h.TryDocker("run", "-d", "--network", "common", "--name", name, "box", "sleep", "600")
	h.TryDocker("network", "connect", net, name)
	h.TryDocker("network", "disconnect", net, name)
	h.TryDocker("rm", "-f", name)
	h.TryDocker("network", "rm", net)
}

// bury takes away what the storm has left in Docker.
func bury(t *testing.T, h *docker.Host) {
	t.Helper()
	world.Within(t, backTime, "the storm's containers and networks of "+h.Name()+" go", func() error {
		if out, _ := h.TryDocker("ps", "-aq"); out != "" {
			h.TryDocker(append([]string{"rm", "-f"}, strings.Fields(out)...)...)
		}
		out, err := h.TryDocker("network", "ls", "-q", "--filter", "name=own")
		if err == nil && out != "" {
			h.TryDocker(append([]string{"network", "rm"}, strings.Fields(out)...)...)
			err = fmt.Errorf("networks %s", out)
		}
		return err
	})
}

// agreed compares Docker's view with the agent's: the same networks by their ids
// and subnets, and no endpoint.
func agreed(t *testing.T, h *docker.Host) {
	t.Helper()
	world.Within(t, backTime, "Docker and the agent of "+h.Name()+" agree", func() error {
		theirs, err := dockerNetworks(h)
		if err != nil {
			return err
		}
		networks, err := h.Networks(t.Context())
		if err != nil {
			return err
		}
		var ours []string
		for _, n := range networks {
			ours = append(ours, n.Name+" "+fmt.Sprint(n.Subnets))
		}
		sort.Strings(ours)
		endpoints, err := h.Endpoints(t.Context())
		switch {
		case err != nil:
			return err
		case !slices.Equal(ours, theirs):
			return fmt.Errorf("the agent has %q, Docker has %q", ours, theirs)
		case len(endpoints) > 0:
			return fmt.Errorf("the agent has endpoints %+v", endpoints)
		}
		return nil
	})
}

// dockerNetworks are the names and subnets of the networks of our driver.
func dockerNetworks(h *docker.Host) ([]string, error) {
	ids, err := h.TryDocker("network", "ls", "-q", "--filter", "driver=heddle")
	if err != nil || ids == "" {
		return nil, err
	}
	out, err := h.TryDocker(append([]string{"network", "inspect"}, strings.Fields(ids)...)...)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	var all []struct {
		Name string
		IPAM struct {
			Config []struct{ Subnet netip.Prefix }
		}
	}
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		return nil, err
	}
	var found []string
	for _, n := range all {
		var subnets []netip.Prefix
		for _, c := range n.IPAM.Config {
			subnets = append(subnets, c.Subnet)
		}
		found = append(found, n.Name+" "+fmt.Sprint(subnets))
	}
	sort.Strings(found)
	return found, nil
}
