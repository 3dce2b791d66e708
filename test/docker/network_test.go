package docker_test

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/docker"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// listed is an error until the host's Docker shows the network, or shows it no more.
func listed(h *docker.Host, name string, want bool) error {
	var found []struct{ Name, Driver string }
	err := h.Engine("/networks?filters="+url.QueryEscape(fmt.Sprintf(`{"name":["^%s$"]}`, name)), &found)
	if err == nil && (len(found) == 1 && found[0].Name == name && found[0].Driver == "heddle") != want {
		err = fmt.Errorf("network %s: want it listed: %t; Docker lists %q", name, want, found)
	}
	return err
}

// everywhere waits until all hosts' Dockers show a network, or none does.
func everywhere(t *testing.T, l *docker.Lab, name string, want bool) {
	t.Helper()
	took := l.Everywhere(t, fmt.Sprintf("network %s in Docker: %t", name, want), func(h *docker.Host) error { return listed(h, name, want) })
	t.Logf("%s on all hosts: %t after %s", name, want, took.Round(time.Millisecond))
}

// inspect is one value that Docker knows of a network.
func inspect(t *testing.T, h *docker.Host, name, format string) string {
	t.Helper()
	return h.Docker(t, "network", "inspect", "--format", format, name)
}

// TestCreateOnce creates a network in one dockerd, and finds the same in all.
func TestCreateOnce(t *testing.T) {
	l := docker.New(t, 3)
	first, last := l.Hosts[0], l.Hosts[2]
	first.Docker(t, "network", "create", "-d", "heddle", "--ipam-driver", "heddle", "--subnet", "10.20.0.0/24", "--subnet", "fd20::/64", "--ipv6",
		"--gateway", "10.20.0.1", "--gateway", "fd20::1", "--ip-range", "10.20.0.128/25", "--aux-address", "printer=10.20.0.200", "--label", "team=blue", "-o", "com.docker.network.driver.mtu=1400", "myapp")
	everywhere(t, l, "myapp", true)
	const said = `{{json .IPAM.Config}} {{.Labels}} {{index .Options "com.docker.network.driver.mtu"}} {{.EnableIPv6}} {{.Internal}}`
	want := inspect(t, first, "myapp", said)
	id := ""
	for _, h := range l.Hosts {
		if got := inspect(t, h, "myapp", said); got != want {
			t.Errorf("Docker of %s says\n%s\nand that of %s\n%s", h.Name(), got, first.Name(), want)
		}
		n, err := h.Network(t.Context(), "myapp")
		if err != nil || id != "" && n.ID != id || !n.Shared || n.MTU != 1400 {
			t.Errorf("agent of %s: %+v, %v", h.Name(), n, err)
		}
		id = n.ID
		if h != first && inspect(t, h, "myapp", `{{index .Options "heddle.id"}}`) != id {
			t.Errorf("Docker of %s does not know our id", h.Name())
		}
	}
	t.Run("auto", func(t *testing.T) { // addresses chosen by us, IPv6 too
		last.Docker(t, "network", "create", "-d", "heddle", "--ipam-driver", "heddle", "--ipv6", "--internal", "auto")
		everywhere(t, l, "auto", true)
		for _, h := range l.Hosts {
			if got, want := inspect(t, h, "auto", "{{range .IPAM.Config}}{{.Subnet}} {{end}}{{.Internal}}"), inspect(t, last, "auto", "{{range .IPAM.Config}}{{.Subnet}} {{end}}{{.Internal}}"); got != want {
				t.Errorf("%s has %q, %s %q", h.Name(), got, last.Name(), want)
			}
		}
		last.Docker(t, "network", "rm", "auto")
		everywhere(t, l, "auto", false)
	})
	t.Run("Docker's own addresses are refused", func(t *testing.T) {
		out, err := first.TryDocker("network", "create", "-d", "heddle", "own")
		if err == nil || !strings.Contains(out, "--ipam-driver heddle") {
			t.Errorf("%v %s", err, out)
		}
	})
	t.Run("removed by hand while others use it", func(t *testing.T) {
		last.Docker(t, "run", "-d", "--name", "user", "--net", "myapp", "--stop-signal", "KILL", "box", "sleep", "3600")
		first.TryDocker("network", "rm", "myapp")
		everywhere(t, l, "myapp", true)
		if got := inspect(t, first, "myapp", said); got != want {
			t.Errorf("it came back as\n%s\nand was\n%s", got, want)
		}
		last.Docker(t, "rm", "-f", "user")
	})
	first.Docker(t, "network", "rm", "myapp")
	everywhere(t, l, "myapp", false)
	nothingLeft(t, l)
}

// TestDockerAway has a dockerd that is down while networks come and go, and a host
// that joins the cluster later.
func TestDockerAway(t *testing.T) {
	soak.Turn(t, 2)
	l := docker.NewBare(t, 3)
	a, b, late := l.Hosts[0], l.Hosts[1], l.Hosts[2]
	a.StartAgent(t, "--store", "embedded", "--underlay", "eth0")
	l.Join(t, b)
	for _, h := range []*docker.Host{a, b} {
		h.StartDocker(t)
	}
	create := func(h *docker.Host, name, subnet string) {
		h.Docker(t, "network", "create", "-d", "heddle", "--ipam-driver", "heddle", "--subnet", subnet, name)
	}
	create(a, "going", "10.20.0.0/24")
	world.Within(t, time.Minute, "the network is on both", func() error { return errors.Join(listed(a, "going", true), listed(b, "going", true)) })
	b.StopDocker(t)
	create(a, "coming", "10.21.0.0/24")
	a.Docker(t, "network", "rm", "going")
	l.Join(t, late)
	b.StartDocker(t)
	late.StartDocker(t)
	everywhere(t, l, "coming", true)
	everywhere(t, l, "going", false)
	// an agent that is killed knows what it has named
	b.KillAgent(t)
	b.StartAgent(t)
	// one that may not remove it from all gets it again
	before := inspect(t, late, "coming", "{{.Id}}")
	late.Docker(t, "network", "rm", "coming")
	everywhere(t, l, "coming", true)
	if inspect(t, late, "coming", "{{.Id}}") == before || !strings.Contains(late.AgentLog(), string(heddle.NotGranted)) {
		t.Error("it was not refused, or not taken out of Docker")
	}
	a.Heddle(t, "host", "grant", late.Name(), "networks")
	late.Docker(t, "network", "rm", "coming")
	everywhere(t, l, "coming", false)
}

// TestNotHeldUp has an agent that knows of a network which its dockerd lacks: until that
// is struck out, others come all the same.
func TestNotHeldUp(t *testing.T) {
	soak.Turn(t, 1)
	l := docker.New(t, 2)
	a, b := l.Hosts[0], l.Hosts[1]
	b.KillAgent(t)
	a.Docker(t, "network", "create", "-d", "heddle", "--ipam-driver", "heddle", "--subnet", "10.20.0.0/24", "myapp")
	world.Within(t, time.Minute, "the network has its name", func() error { _, err := a.Network(t.Context(), "myapp"); return err })
	const record = "/var/lib/heddle/docker/networks.json"
	lost := strings.Repeat("c", 64)
	b.Run(t, "sh", "-ec", fmt.Sprintf(`mkdir -p %[1]s; echo '{"%[2]s": {"dockerID": "%[2]s", "networkID": "gone"}}' >%[3]s`, path.Dir(record), lost, record))
	b.StartAgent(t)
	text := ""
	world.Within(t, time.Minute, "the network is on the other host", func() error {
		text = b.Run(t, "cat", record)
		return listed(b, "myapp", true)
	})
	if !strings.Contains(text, lost) {
		t.Errorf("it came only when the other one was struck out: %s", text)
	}
	a.Docker(t, "network", "rm", "myapp")
	everywhere(t, l, "myapp", false)
	nothingLeft(t, l)
}

// createTwo creates two networks of one name at once, in two dockerds.
func createTwo(l *docker.Lab, name string) error {
	var errs [2]error
	l.Parallel(func(h *docker.Host) {
		i := slices.Index(l.Hosts, h)
		out, err := h.TryDocker("network", "create", "-d", "heddle", "--ipam-driver", "heddle", "--subnet", fmt.Sprintf("10.2%d.0.0/24", i), name)
		if err != nil {
			errs[i] = fmt.Errorf("%w: %s", err, out)
		}
	})
	return errors.Join(errs[:]...)
}

// TestTwoOfAName creates two networks of one name at once, in two dockerds: one of
// them is the cluster's, and the other gets its name never, until it is removed.
func TestTwoOfAName(t *testing.T) {
	soak.Turn(t, 1)
	l := docker.New(t, 2)
	l.Hosts[0].Heddle(t, "host", "grant", l.Hosts[1].Name(), "networks")
	err := createTwo(l, "myapp")
	for again := 0; again < 5 && err != nil && strings.Contains(err.Error(), "already exists"); again++ {
		// not at once: the one was in the other's dockerd before that was asked
		l.Hosts[0].Docker(t, "network", "rm", "myapp")
		everywhere(t, l, "myapp", false)
		err = createTwo(l, "myapp")
	}
	if err != nil {
		t.Fatal(err)
	}
	var loser, winner *docker.Host
	world.Within(t, time.Minute, "one host tells that its network has no name", func() error {
		for i, h := range l.Hosts {
			if strings.Contains(h.AgentLog(), "docker-name") {
				loser, winner = h, l.Hosts[1-i]
				return nil
			}
		}
		return errors.New("nobody does")
	})
	mine := ""
	world.Within(t, time.Minute, "one network has the name there", func() error {
		mine = loser.Docker(t, "network", "ls", "--quiet", "--no-trunc", "--filter", "name=^myapp$")
		if strings.Contains(mine, "\n") {
			return errors.New(mine)
		}
		return nil
	})
	loser.Docker(t, "network", "rm", mine)
	world.Within(t, time.Minute, "the network is the same on both hosts", func() error {
		if err := listed(loser, "myapp", true); err != nil {
			return err
		}
		const subnets = "{{range .IPAM.Config}}{{.Subnet}}{{end}}"
		if a, b := inspect(t, loser, "myapp", subnets), inspect(t, winner, "myapp", subnets); a != b {
			return fmt.Errorf("%s and %s", a, b)
		}
		return nil
	})
	winner.Docker(t, "network", "rm", "myapp")
	everywhere(t, l, "myapp", false)
	nothingLeft(t, l)
}

// TestNamedWhileUsed has a container on a network before the network has its name,
// and kills the agent afterwards.
func TestNamedWhileUsed(t *testing.T) {
	soak.Turn(t, 0)
	l := docker.New(t, 1)
	h := l.Hosts[0]
	for i, mode := range []string{"bridge", "routed"} {
		h.Docker(t, "network", "create", "-d", "heddle", "--ipam-driver", "heddle", "-o", "mode="+mode, "--subnet", fmt.Sprintf("10.3%d.0.0/24", i), "my"+mode)
		run(t, h, "my"+mode, "--net", "my"+mode)
	}
	named := func() error {
		all, err := h.Endpoints(t.Context())
		if err == nil && (len(all) != 2 || all[0].NetworkName == all[1].NetworkName) {
			err = fmt.Errorf("%+v", all)
		}
		for _, e := range all {
			if e.NetworkName != "mybridge" && e.NetworkName != "myrouted" {
				err = fmt.Errorf("endpoint %s is on network %q", e.ID, e.NetworkName)
			}
		}
		return err
	}
	world.Within(t, time.Minute, "both networks have their names", named)
	h.KillAgent(t)
	h.StartAgent(t)
	world.Within(t, time.Minute, "and have them after kill -9", named)
	for _, name := range []string{"mybridge", "myrouted"} {
		at := netip.MustParseAddr(h.Docker(t, "inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", name))
		world.Within(t, time.Minute, name+" answers its host", func() error { return h.Netns.Ping(at, "-W1") })
		h.Docker(t, "rm", "-f", name)
		h.Docker(t, "network", "rm", name)
	}
	nothingLeft(t, l)
}

// TestNameClash leaves alone what has the name in a dockerd already.
func TestNameClash(t *testing.T) {
	soak.Turn(t, 2)
	l := docker.New(t, 2)
	a, b := l.Hosts[0], l.Hosts[1]
	b.Docker(t, "network", "create", "-d", "bridge", "--label", "mine=yes", "myapp")
	a.Docker(t, "network", "create", "-d", "heddle", "--ipam-driver", "heddle", "--subnet", "10.20.0.0/24", "myapp")
	world.Within(t, time.Minute, "the clash is told", func() error {
		if out := b.Heddle(t, "status"); !strings.Contains(out, "network myapp: ") || !strings.Contains(out, "another network of that name (bridge, ") {
			return errors.New(out)
		}
		return nil
	})
	if got := inspect(t, b, "myapp", "{{.Driver}} {{.Labels.mine}}"); got != "bridge yes" {
		t.Errorf("the foreign network is %q by now", got)
	}
	b.Docker(t, "network", "rm", "myapp")
	everywhere(t, l, "myapp", true)
	// another of the name, created from this side: Docker refuses, for it is there
	if out, err := b.TryDocker("network", "create", "-d", "heddle", "--ipam-driver", "heddle", "--subnet", "10.22.0.0/24", "myapp"); err == nil {
		t.Errorf("a second network of the name: %s", out)
	}
	a.Docker(t, "network", "rm", "myapp")
	everywhere(t, l, "myapp", false)
}
