package docker_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/docker"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// TestWishes has a real dockerd ask for what only some modes have: addresses of both
// families by name, ports where containers have their own, the MAC address of a NIC.
func TestWishes(t *testing.T) {
	soak.Turn(t, 1)
	l := docker.New(t, 1, withResolver)
	h := l.Hosts[0]
	create := func(name string, options ...string) {
		h.Docker(t, append(append([]string{"network", "create", "-d", "heddle", "--ipam-driver", "heddle"}, options...), name)...)
	}
	link := func(name string) string { return h.Docker(t, "exec", name, "ip", "addr", "show", "eth0") }
	gone := func(container, network string) {
		h.Docker(t, "rm", "-f", container)
		h.Docker(t, "network", "rm", network)
	}

	create("both", "-o", "mode=bridge", "--subnet", "10.61.0.0/24", "--ipv6", "--subnet", "fd61::/64")
	run(t, h, "named", "--net", "both", "--ip", "10.61.0.9", "--ip6", "fd61::9",
		"-p", "8000-8001:80", "-p", "8000-8001:81", "-p", "7000-7002:70-72", "-p", "90", "-p", "9000:9000/sctp")
	ports := portsOf(t, h)
	if len(ports) != 7 || ports[":80/tcp"]+ports[":81/tcp"] != 8000+8001 || ports[":70/tcp"] != 7000 || ports[":72/tcp"] != 7002 ||
		ports[":90/tcp"] == 0 || ports[":9000/sctp"] != 9000 {
		t.Errorf("asked for ranges, any port and SCTP: %v", ports)
	}
	h.Docker(t, "restart", "-t", "0", "named")
	if again := portsOf(t, h); len(again) != 7 {
		t.Errorf("after a restart: %v, were %v", again, ports)
	}
	if out := link("named"); !strings.Contains(out, "inet 10.61.0.9/24") || !strings.Contains(out, "inet6 fd61::9/64") {
		t.Errorf("asked for addresses of both families:\n%s", out)
	}
	for _, at := range []string{"10.61.0.9", "fd61::9"} {
		world.Within(t, time.Minute, at+" answers", func() error { return h.Netns.Ping(netip.MustParseAddr(at)) })
	}
	gone("named", "both")

	h.Run(t, "sh", "-ec", "ip link add lan0 type veth peer name lan1; ip address add 10.62.0.1/24 dev lan0; ip link set lan0 up; ip link set lan1 up")
	create("lan", "-o", "parent=lan0", "--subnet", "10.62.0.0/24", "--ip-range", "10.62.0.128/25")
	run(t, h, "guest", "--net", "lan", "-p", "8080:80")
	if e, err := h.Endpoints(t.Context()); err != nil || len(e) != 1 || len(e[0].Ports) > 0 {
		t.Errorf("published for a container that has all its ports: %+v %v", e, err)
	}
	world.Within(t, time.Minute, "what becomes of the ports is told", func() error {
		if !strings.Contains(h.AgentLog(), "published ports are ignored") {
			return os.ErrNotExist
		}
		return nil
	})
	gone("guest", "lan")

	create("whole", "-o", "parent=lan0", "-o", "macvlan_mode=passthru", "--subnet", "10.62.0.0/24", "--ip-range", "10.62.0.128/25")
	_, mac, _ := strings.Cut(h.Run(t, "ip", "-o", "link", "show", "lan0"), "link/ether ")
	mac, _, _ = strings.Cut(mac, " ")
	run(t, h, "owner", "--net", "whole")
	if out := link("owner"); mac == "" || !strings.Contains(out, "link/ether "+mac) {
		t.Errorf("it is to have the MAC address %s:\n%s", mac, out)
	}
	gone("owner", "whole")
	h.Run(t, "ip", "link", "del", "lan0")
	t.Run("dhcp", func(t *testing.T) { byDHCP(t, h) })
	nothingLeft(t, l)
	t.Run("crowd", func(t *testing.T) { crowd(t, l) })
}

// portsOf are the host's ports of the only endpoint, by the container's.
func portsOf(t *testing.T, h *docker.Host) map[string]int {
	t.Helper()
	all, err := h.Endpoints(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v %v", all, err)
	}
	ports := map[string]int{}
	for _, p := range all[0].Ports {
		ports[fmt.Sprintf(":%d/%s", p.ContainerPort, p.Protocol)] = int(p.HostPort)
	}
	return ports
}

// TestComposeNetwork has a compose file make its own network, with the driver's name
// and nothing else.
func TestComposeNetwork(t *testing.T) {
	docker.Need(t, "docker-compose")
	l := docker.New(t, 1)
	h := l.Hosts[0]
	file := filepath.Join(t.TempDir(), "app.yaml")
	const app = `version: "3"
services:
  one: {image: box, command: [sleep, "3600"], stop_signal: KILL, networks: [net]}
  two: {image: box, command: [sleep, "3600"], stop_signal: KILL, networks: [net]}
networks:
  net: {driver: heddle, ipam: {driver: heddle}}
`
	if err := os.WriteFile(file, []byte(app), 0o600); err != nil {
		t.Fatal(err)
	}
	compose := func(args ...string) {
		h.Run(t, append([]string{"docker-compose", "-p", "app", "-f", file}, args...)...)
	}
	compose("up", "-d")
	all, err := h.Endpoints(t.Context())
	if err != nil || len(all) != 2 || len(all[0].Addrs) == 0 {
		t.Fatalf("%+v %v", all, err)
	}
	one := h.Docker(t, "ps", "-q", "--filter", "label=com.docker.compose.service=one")
	pings(t, h, one, "two")
	compose("down")
	nothingLeft(t, l)
}
