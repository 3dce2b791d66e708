package docker_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/docker"
	"github.com/heddle-network/heddle/test/world"
)

// TestRunAnywhere is the story of a user of Docker on three machines: a network
// created once, containers on each host with the overlay on eth0 and the outside on
// eth1, and all that docker run and docker network say about them.
func TestRunAnywhere(t *testing.T) {
	l := docker.New(t, 3, withResolver)
	l.Hosts[0].Docker(t, "network", "create", "-d", "heddle", "--ipam-driver", "heddle", "--subnet", "10.0.0.0/24", "myapp")
	everywhere(t, l, "myapp", true)
	for i, h := range l.Hosts {
		if out := h.Docker(t, "network", "ls", "--format", "{{.Name}}"); strings.Join(strings.Fields(out), " ") != "bridge host myapp none" {
			t.Errorf("%s lists %q", h.Name(), out)
		}
		run(t, h, fmt.Sprintf("c%d", i+1), "--net", "myapp")
	}
	addr := func(h *docker.Host, name string) string {
		return h.Docker(t, "inspect", "--format", "{{.NetworkSettings.Networks.myapp.IPAddress}}", name)
	}
	var all []string
	for i, h := range l.Hosts {
		all = append(all, addr(h, fmt.Sprintf("c%d", i+1)))
	}
	for i, h := range l.Hosts {
		name := fmt.Sprintf("c%d", i+1)
		twoLinks(t, h, name, all[i])
		for _, to := range append(all, l.Switches[0].Addr4.String()) {
			pings(t, h, name, to)
		}
	}
	t.Run("iperf", func(t *testing.T) { iperf(t, l, all[1]) })
	t.Run("fixed", func(t *testing.T) { fixed(t, l) })
	t.Run("connect", func(t *testing.T) { connect(t, l) })
	t.Run("published", func(t *testing.T) { published(t, l) })
	t.Run("names", func(t *testing.T) { composeNames(t, l) })
	for i, h := range l.Hosts {
		h.Docker(t, "rm", "-f", fmt.Sprintf("c%d", i+1))
	}
	l.Hosts[2].Docker(t, "network", "rm", "myapp")
	everywhere(t, l, "myapp", false)
	nothingLeft(t, l)
}

// run starts a container that does nothing, and ends at once when told to.
func run(t *testing.T, h *docker.Host, name string, options ...string) {
	t.Helper()
	h.Docker(t, append(append([]string{"run", "-d", "--name", name, "--stop-signal", "KILL"}, options...), "box", "sleep", "3600")...)
}

// pings sends four packets, after a first that may find the paths still cold.
func pings(t *testing.T, h *docker.Host, name, to string) {
	t.Helper()
	world.Within(t, time.Minute, name+" reaches "+to, func() error {
		out, err := h.TryDocker("exec", name, "ping", "-c", "1", "-W", "2", to)
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	})
	if out := h.Docker(t, "exec", name, "ping", "-c", "4", "-i", "0.2", "-W", "5", to); !strings.Contains(out, " 0% packet loss") {
		t.Errorf("%s to %s:\n%s", name, to, out)
	}
}

// twoLinks checks eth0 on the overlay and eth1 on docker_gwbridge.
func twoLinks(t *testing.T, h *docker.Host, name, addr string) {
	t.Helper()
	out := h.Docker(t, "exec", name, "ip", "addr")
	var mac []string
	for _, part := range strings.Split(addr, ".") {
		n, _ := strconv.Atoi(part)
		mac = append(mac, fmt.Sprintf("%02x", n))
	}
	for _, want := range []string{
		`eth0@\S+ .*mtu 1450 (?s:.*?)02:42:` + strings.Join(mac, ":") + `(?s:.*?)inet ` + regexp.QuoteMeta(addr) + `/24 `,
		`eth1@\S+ .*mtu 1500 (?s:.*?)inet 172\.1[89]\.`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("%s of %s lacks %s:\n%s", name, h.Name(), want, out)
		}
	}
}

// iperf measures between hosts and between their containers. What they carry is
// told and not judged: the machine is shared.
func iperf(t *testing.T, l *docker.Lab, server string) {
	docker.NeedInImage(t, "iperf3")
	a, b := l.Hosts[0], l.Hosts[1]
	b.Docker(t, "exec", "-d", "c2", "iperf3", "-s")
	b.Run(t, "iperf3", "-s", "-D")
	carried := func(what string, try func() (string, error)) {
		rate := regexp.MustCompile(`([0-9.]+) Mbits/sec +receiver`)
		world.Within(t, time.Minute, "iperf3 between "+what, func() error {
			out, err := try()
			found := rate.FindStringSubmatch(out)
			if err != nil || found == nil || found[1] == "0.00" {
				return fmt.Errorf("%v\n%s", err, out)
			}
			t.Logf("between %s: %s Mbit/s", what, found[1])
			return nil
		})
	}
	carried("hosts", func() (string, error) { return a.TryRun("iperf3", "-c", b.Addr4.String(), "-t", "2", "-f", "m") })
	carried("containers", func() (string, error) { return a.TryDocker("exec", "c1", "iperf3", "-c", server, "-t", "2", "-f", "m") })
}

// fixed asks for an address and a MAC, which no other host gives out.
func fixed(t *testing.T, l *docker.Lab) {
	a, b := l.Hosts[0], l.Hosts[1]
	run(t, a, "fixed", "--net", "myapp", "--ip", "10.0.0.222", "--mac-address", "02:42:aa:bb:cc:dd", "--label", "team=blue", "--network-alias", "db")
	out := a.Docker(t, "exec", "fixed", "ip", "addr", "show", "eth0")
	if !strings.Contains(out, "10.0.0.222/24") || !strings.Contains(out, "02:42:aa:bb:cc:dd") {
		t.Errorf("asked for an address and a MAC:\n%s", out)
	}
	pings(t, b, "c2", "10.0.0.222")
	for _, name := range []string{"fixed", "db"} { // Docker's own names, on its host
		if out := a.Docker(t, "exec", "c1", "nslookup", name); !strings.Contains(out, "10.0.0.222") {
			t.Errorf("%s is\n%s", name, out)
		}
	}
	if out, err := b.TryDocker("run", "--rm", "--net", "myapp", "--ip", "10.0.0.222", "box", "true"); err == nil || !strings.Contains(out, "HDL-2007") {
		t.Errorf("an address that is taken on another host: %v %s", err, out)
	}
	a.Docker(t, "rm", "-f", "fixed")
}

// connect gives running containers a second network and takes it away.
func connect(t *testing.T, l *docker.Lab) {
	a, c := l.Hosts[0], l.Hosts[2]
	a.Docker(t, "network", "create", "-d", "heddle", "--ipam-driver", "heddle", "--subnet", "10.1.0.0/24", "second")
	everywhere(t, l, "second", true)
	a.Docker(t, "network", "connect", "second", "c1")
	c.Docker(t, "network", "connect", "--ip", "10.1.0.77", "second", "c3")
	pings(t, a, "c1", "10.1.0.77")
	pings(t, a, "c1", l.Switches[0].Addr4.String())
	a.Docker(t, "network", "disconnect", "second", "c1")
	c.Docker(t, "network", "disconnect", "second", "c3")
	if out, err := a.TryDocker("exec", "c1", "ping", "-c", "1", "-W", "2", "10.1.0.77"); err == nil {
		t.Errorf("disconnected, and reached:\n%s", out)
	}
	c.Docker(t, "network", "rm", "second")
	everywhere(t, l, "second", false)
}

// published has a port of a container on the overlay open on its host.
func published(t *testing.T, l *docker.Lab) {
	docker.NeedInImage(t, "curl")
	b, c := l.Hosts[1], l.Hosts[2]
	b.Docker(t, "run", "-d", "--name", "web", "--stop-signal", "KILL", "--net", "myapp", "-p", "8080:80", "box",
		"sh", "-c", "mkdir /www && echo hello-from-web >/www/index.html && exec httpd -f -p 80 -h /www")
	world.Within(t, time.Minute, "the port answers", func() error {
		out, err := c.TryRun("curl", "-s", "-m", "3", "http://"+b.Addr4.String()+":8080/")
		if err == nil && out != "hello-from-web" {
			err = fmt.Errorf("it says %q", out)
		}
		return err
	})
	b.Docker(t, "rm", "-f", "web")
}

// nothingLeft waits until the agents have no network and no endpoint.
func nothingLeft(t *testing.T, l *docker.Lab) {
	t.Helper()
	l.Everywhere(t, "nothing of ours is left", func(h *docker.Host) error {
		networks, err := h.Networks(t.Context())
		if err != nil {
			return err
		}
		endpoints, err := h.Endpoints(t.Context())
		if err == nil && len(networks)+len(endpoints) > 0 {
			err = fmt.Errorf("networks %v, endpoints %v", networks, endpoints)
		}
		return err
	})
}
