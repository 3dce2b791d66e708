package commands_test

import (
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/commands"
)

// TestAttach: the command asks for what the request asks for, and what a container's own words hold
// is no command.
func TestAttach(t *testing.T) {
	never := false
	got := commands.Attach(heddle.AttachRequest{Network: "web", ID: heddle.EndpointID{Container: "c1", IfName: "eth1"}, Netns: "/run/netns/c1",
		IPs: []netip.Addr{netip.MustParseAddr("10.20.0.9")}, MAC: "0a:00:00:00:00:09", NIC: "eno2",
		Ports:  []heddle.PortMapping{{HostPort: 8080, ContainerPort: 80, Protocol: "tcp"}},
		Labels: map[string]string{"b": "$(reboot)", "a": "1"}, Name: "shop", Aliases: []string{"api", "www"}, ResolvConf: true, NoFastPath: true, DefaultRoute: &never})
	want := "heddle attach web --id c1 --ifname eth1 --netns /run/netns/c1 --ip 10.20.0.9 --mac 0a:00:00:00:00:09 --nic eno2 " +
		"--publish 8080:80/tcp --label a=1 --label 'b=$(reboot)' --name shop --alias api --alias www --resolv-conf --no-fast-path --default-route=false"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
