package docker_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/docker"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// backTime is how long a host may take to be whole again: Docker waits 15 s for a
// driver that is away, and begins containers anew one after the other.
const backTime = 4 * time.Minute

// resident is a container that a host's dockerd brings back, with the address that
// it was given by name.
type resident struct{ name, network, ip string }

func (r resident) run(t *testing.T, h *docker.Host) {
	t.Helper()
	h.Docker(t, "run", "-d", "--restart", "always", "--network", r.network, "--ip", r.ip, "--name", r.name, "box", "sleep", "36000")
}

// back waits until the container runs, has its address, and answers its host.
func (r resident) back(t *testing.T, h *docker.Host, after string) {
	t.Helper()
	world.Within(t, backTime, r.name+" is back after "+after, func() error {
		var now struct {
			State struct {
				Running bool
				Error   string
			}
			NetworkSettings struct {
				Networks map[string]struct{ IPAddress string }
			}
		}
		err := h.Engine("/containers/"+r.name+"/json", &now)
		if at := now.NetworkSettings.Networks[r.network].IPAddress; err == nil && (!now.State.Running || at != r.ip || now.State.Error != "") {
			err = fmt.Errorf("it is at %q and not at %s: %+v", at, r.ip, now.State)
		}
		if err != nil {
			return err
		}
		return h.Netns.Ping(netip.MustParseAddr(r.ip), "-W1")
	})
}

// quietAudit waits until the host's agent has nothing to complain of.
func quietAudit(t *testing.T, h *docker.Host, after string) {
	t.Helper()
	world.Within(t, backTime, "audit of "+h.Name()+" after "+after, func() error {
		found, err := h.Audit(t.Context())
		if err == nil && len(found) > 0 {
			err = fmt.Errorf("%+v", found)
		}
		return err
	})
}

// TestRestarts kills and stops the agent and dockerd of a host in every order: its
// containers come back with their addresses, and nothing is left over.
func TestRestarts(t *testing.T) {
	soak.Turn(t, 0)
	l := docker.New(t, 2)
	h := l.Hosts[1]
	l.Hosts[0].Heddle(t, "host", "grant", h.Name(), "networks")
	h.Docker(t, "network", "create", "-d", "heddle", "--ipam-driver", "heddle", "-o", "mode=bridge", "--subnet", "10.71.0.0/24", "flat")
	h.Docker(t, "network", "create", "-d", "heddle", "--ipam-driver", "heddle", "--subnet", "10.72.0.0/20", "wide")
	all := []resident{{"one", "flat", "10.71.0.9"}, {"two", "wide", "10.72.0.9"}}
	for _, r := range all {
		r.run(t, h)
		r.back(t, h, "its start")
	}
	killAgent, startAgent := func() { h.KillAgent(t) }, func() { h.StartAgent(t) }
	startDocker := func() { h.StartDocker(t) }
	for _, c := range []struct {
		name  string
		steps []func()
	}{
		{"the agent is killed", []func(){killAgent, startAgent}},
		{"dockerd is killed", []func(){h.KillDocker, startDocker}},
		{"dockerd is stopped", []func(){func() { h.StopDocker(t) }, startDocker}},
		{"the agent, dockerd killed; agent first", []func(){killAgent, h.KillDocker, startAgent, startDocker}},
		{"dockerd, the agent killed; agent first", []func(){h.KillDocker, killAgent, startAgent, startDocker}},
		{"both killed; dockerd first", []func(){h.KillDocker, killAgent, func() { atOnce(startDocker, func() { time.Sleep(3 * time.Second); startAgent() }) }}},
		{"the agent is killed while dockerd starts", []func(){h.KillDocker, func() { atOnce(startDocker, func() { time.Sleep(time.Second); killAgent(); startAgent() }) }}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, step := range c.steps {
				step()
			}
			for _, r := range all {
				r.back(t, h, c.name)
			}
			quietAudit(t, h, c.name)
		})
	}
	t.Run("the agent is away for longer than dockerd waits", func(t *testing.T) { agentAway(t, h, all) })
	t.Run("the store is away", func(t *testing.T) { storeAway(t, l, all) })
	for _, r := range all {
		h.Docker(t, "rm", "-f", r.name)
	}
	h.Docker(t, "network", "rm", "flat", "wide")
	quietAudit(t, h, "the end")
}

// waits is how long dockerd waits for a driver that is away.
const waits = 15 * time.Second

// agentAway: dockerd gives up on what it should start, and does so once it is told to
// when the agent is there again.
func agentAway(t *testing.T, h *docker.Host, all []resident) {
	h.KillDocker()
	h.KillAgent(t)
	atOnce(func() { h.StartDocker(t) }, func() { time.Sleep(waits + waits/2); h.StartAgent(t) })
	for _, r := range all {
		world.Within(t, backTime, r.name+" is started", func() error {
			out, err := h.TryDocker("start", r.name)
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			return err
		})
		r.back(t, h, "the agent's absence")
	}
	quietAudit(t, h, "the agent's absence")
}

func atOnce(all ...func()) {
	done := make(chan bool)
	for _, f := range all {
		go func() { defer func() { done <- true }(); f() }()
	}
	for range all {
		<-done
	}
}

// storeAway: without the store, what the host has goes on, starts and stops; what
// needs the store is refused, all of it in the time that a call may take.
func storeAway(t *testing.T, l *docker.Lab, all []resident) {
	h := l.Hosts[1]
	l.Hosts[0].KillAgent(t)
	defer func() { l.Hosts[0].StartAgent(t) }()
	for range 2 { // the second time it is known to be away
		began := time.Now()
		if out, err := h.TryRun("docker", "network", "create", "-d", "heddle", "--ipam-driver", "heddle", "late"); err == nil {
			t.Errorf("a network of several hosts is made without the store: %s", out)
		} else if took := time.Since(began); took > 20*time.Second {
			t.Errorf("the refusal took %v: %s", took, out)
		}
	}
	for _, r := range all {
		h.Docker(t, "restart", "-t", "0", r.name)
		r.back(t, h, "a restart without the store")
	}
	if out, err := h.TryDocker("run", "--rm", "--network", "wide", "box", "ping", "-c1", "-W5", all[1].ip); err != nil {
		t.Errorf("a new container without the store: %v\n%s", err, strings.TrimSpace(out))
	}
	h.KillDocker()
	h.StartDocker(t)
	for _, r := range all {
		r.back(t, h, "a start of dockerd without the store")
	}
}
