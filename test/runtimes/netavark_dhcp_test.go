package runtimes_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// tellDHCP: the DHCP server of a LAN gives Podman's containers their addresses; Podman knows them, and the router.
func (p podman) tellDHCP() {
	path, err := exec.LookPath("dnsmasq")
	if err != nil {
		p.t.Skip("needs dnsmasq (Debian: dnsmasq-base)")
	}
	far, dir := world.NewNetns(p.t, "leases"), p.t.TempDir()
	cell.Sh(p.t, `ip link add lease0 type veth peer name eth0 netns leases; ip address add 198.18.7.1/24 dev lease0; ip link set lease0 up
		ip -n leases address add 198.18.7.2/24 dev eth0; ip -n leases link set eth0 up; ip -n leases link set lo up; ip -n leases address add 198.18.8.9/32 dev lo`)
	p.t.Cleanup(func() { cell.TrySh("kill $(cat %s/pid); ip link delete lease0", dir) })
	far.Sh(p.t, "%s --conf-file=/dev/null --port=0 --interface=eth0 --bind-interfaces --no-ping --user=root --dhcp-authoritative --dhcp-range=198.18.7.50,198.18.7.59,255.255.255.0,2m "+
		"--dhcp-option=option:router,198.18.7.2 --dhcp-leasefile=%[2]s/leases --pid-file=%[2]s/pid", path, dir)
	p.do("network create --driver heddle --opt mode=macvlan --opt parent=lease0 --opt addresses=dhcp leased")
	a := p.run("a", "--network leased:alias=leaser")
	e := p.endpointOn("leased", p.id("a"))
	if e.DHCP == nil || !e.DHCP.Held || !slices.Contains(e.Aliases, "leaser") {
		p.t.Fatalf("%+v", e)
	}
	if knows := p.ask("a", "{{with .NetworkSettings.Networks.leased}}{{.IPAddress}}/{{.IPPrefixLen}} {{.Gateway}}{{end}}"); knows != e.Addrs[0].String()+" 198.18.7.2" {
		p.t.Errorf("podman knows %s, the endpoint is %+v", knows, e)
	}
	a.Sh(p.t, "ping -c 1 -w 20 198.18.8.9")
	p.do("rm -f -t 0 a")
	world.Soon(p.t, "the lease is given back", func() error {
		if text := cell.Sh(p.t, "cat %s/leases", dir); strings.Contains(text, e.Addrs[0].Addr().String()) {
			return fmt.Errorf("%s", text)
		}
		return nil
	})
	p.do("network rm leased")
	cell.Must(p.t, p.DeleteNetwork(ctx, "leased"))
}
