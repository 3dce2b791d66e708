package machines_test

import (
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/docker"
	"github.com/heddle-network/heddle/test/soak"
)

// TestDHCP has a container of a virtual machine get its address by DHCP, on a NIC that passes on no frames
// to other MAC addresses than it was told: the answers come before the container has a device. The
// server has an address for its MAC address that somebody has, who says so to that MAC address alone.
func TestDHCP(t *testing.T) {
	soak.Turn(t, 1)
	const kernel, mac = "6.12", "0a:00:00:00:00:77"
	needMachines(t, kernel)
	l := raise(t, lab.Topology{Name: "dhcp", Hosts: []lab.Node{{Name: "server", Agent: lab.Agent{Off: true}}, {Name: "vm1", Machine: kernel}, {Name: "squatter", Agent: lab.Agent{Off: true}}}})
	server, vm, squatter := &docker.Host{Host: l.Hosts[0]}, &docker.Host{Host: l.Hosts[1], Client: client.New(l.Hosts[1].Socket)}, &docker.Host{Host: l.Hosts[2]}
	squatter.Run(t, "ip", "address", "add", "172.31.240.100/32", "dev", "eth0")
	if _, err := server.TryRun("sh", "-c", "command -v dnsmasq"); err != nil {
		t.Skip("needs dnsmasq (Debian: dnsmasq-base)")
	}
	server.Run(t, "sh", "-c", "dnsmasq --conf-file=/dev/null --port=0 --interface=eth0 --bind-interfaces --user=root --no-ping --log-dhcp --log-facility=/run/dnsmasq.log --dhcp-leasefile=/run/leases "+
		"--dhcp-range=172.31.240.110,172.31.240.120,2m --dhcp-option=option:T1,3 --dhcp-option=option:T2,60 --dhcp-host="+mac+",172.31.240.100")
	vm.Heddle(t, "network", "create", "lan", "--mode", "macvlan", "--parent", "eth0", "--opt", "addresses=dhcp")
	vm.Run(t, "ip", "netns", "add", "web")
	made, err := vm.Client.Attach(t.Context(), heddle.AttachRequest{Network: "lan", ID: heddle.EndpointID{Container: "web", IfName: "eth0"}, Netns: "/run/netns/web", MAC: mac})
	log := func() string { return server.Run(t, "cat", "/run/dnsmasq.log") }
	if err != nil {
		t.Fatalf("%v\n%s", err, log())
	}
	if addr := made.Endpoint.Addrs[0].Addr().String(); addr == "172.31.240.100" || !strings.Contains(log(), "DHCPDECLINE") {
		t.Errorf("the container has %s, which somebody has:\n%s", addr, log())
	}
	vm.Run(t, "ip", "netns", "exec", "web", "ping", "-n", "-c1", "-W5", server.Addr4.String())
	soon(t, "the lease is renewed", func() bool {
		e, err := vm.Client.Endpoint(t.Context(), made.Endpoint.ID)
		return err == nil && e.DHCP.Held && e.DHCP.Expires.After(made.Endpoint.DHCP.Expires)
	})
	_, err = vm.Client.Detach(t.Context(), made.Endpoint.ID)
	cell.Must(t, err)
	soon(t, "the lease is given back", func() bool { return server.Run(t, "cat", "/run/leases") == "" })
	if out := vm.Heddle(t, "audit"); strings.Contains(out, "lease") {
		t.Error(out)
	}
}
