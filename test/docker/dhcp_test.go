package docker_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/docker"
	"github.com/heddle-network/heddle/test/world"
)

// byDHCP has the DHCP server of a LAN give Docker's containers their addresses: a real one, on the LAN of the host's interface lan0.
func byDHCP(t *testing.T, h *docker.Host) {
	dir := t.TempDir()
	h.Run(t, "sh", "-ec", `ip netns add lan; ip link add lan0 type veth peer name lan1 netns lan; ip address add 10.62.0.1/24 dev lan0; ip link set lan0 up
		ip -n lan address add 10.62.0.2/24 dev lan1; ip -n lan link set lan1 up; ip -n lan link set lo up; ip -n lan address add 203.0.113.9/32 dev lo
		nsenter --net=/run/netns/lan dnsmasq --conf-file=/dev/null --port=0 --interface=lan1 --bind-interfaces --no-ping --user=root --dhcp-authoritative \
		--dhcp-range=10.62.0.50,10.62.0.59,255.255.255.0,2m --dhcp-option=option:router,10.62.0.2 --dhcp-option=option:T1,3 --dhcp-option=option:T2,60 --dhcp-leasefile=`+dir+"/leases --pid-file="+dir+"/pid")
	t.Cleanup(func() { h.Run(t, "sh", "-c", "kill $(cat "+dir+"/pid); ip netns delete lan") })
	leases := func() string { return h.Run(t, "cat", dir+"/leases") }

	out, err := h.TryDocker("network", "create", "-d", "heddle", "-o", "parent=lan0", "-o", "addresses=dhcp", "lan")
	if err == nil || !strings.Contains(out, "--ipam-driver null") {
		t.Errorf("with Docker's own addresses: %v %s", err, out)
	}
	h.Docker(t, "network", "create", "-d", "heddle", "--ipam-driver", "null", "-o", "parent=lan0", "-o", "addresses=dhcp", "lan")
	run(t, h, "leased", "--net", "lan", "--mac-address", "02:00:00:00:62:01")
	address := func() string {
		t.Helper()
		var inspected []struct {
			NetworkSettings struct {
				Networks map[string]struct{ IPAddress, Gateway, MacAddress string }
			}
		}
		if err := json.Unmarshal([]byte(h.Docker(t, "inspect", "leased")), &inspected); err != nil {
			t.Fatal(err)
		}
		n := inspected[0].NetworkSettings.Networks["lan"]
		link := h.Docker(t, "exec", "leased", "ip", "address", "show", "eth0")
		if n.Gateway != "10.62.0.2" || n.MacAddress != "02:00:00:00:62:01" || !strings.Contains(link, "inet "+n.IPAddress+"/24") || !strings.Contains(leases(), " "+n.IPAddress+" ") {
			t.Errorf("docker says %+v, the container has %s, the server %s", n, link, leases())
		}
		return n.IPAddress
	}
	address()
	pings(t, h, "leased", "203.0.113.9")
	h.Docker(t, "restart", "-t", "0", "leased")
	at := address()
	pings(t, h, "leased", "203.0.113.9")
	world.Within(t, time.Minute, at+" answers", func() error { return h.Netns.Ping(netip.MustParseAddr(at)) })
	all, err := h.Endpoints(t.Context())
	if err != nil || len(all) != 1 || all[0].DHCP == nil || !all[0].DHCP.Held || all[0].Addrs[0].Addr().String() != at {
		t.Fatalf("%+v %v", all, err)
	}
	world.Within(t, time.Minute, "the lease is renewed", func() error {
		now, err := h.Endpoints(t.Context())
		if err == nil && (len(now) != 1 || !now[0].DHCP.Expires.After(all[0].DHCP.Expires)) {
			err = fmt.Errorf("%+v", now)
		}
		return err
	})
	h.Docker(t, "rm", "-f", "leased")
	world.Within(t, time.Minute, "the lease is given back", func() error {
		if text := leases(); strings.Contains(text, at) {
			return fmt.Errorf("%s", text)
		}
		return nil
	})
	h.Docker(t, "network", "rm", "lan")
}
