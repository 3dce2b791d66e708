package agent

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestCheckHostIP: a port is published only on an address that belongs to one host.
func TestCheckHostIP(t *testing.T) {
	for text, taken := range map[string]bool{
		"": true, "0.0.0.0": true, "::": true, "192.0.2.1": true, "127.0.0.1": true, "127.0.0.2": true,
		"2001:db8::1": true, "fd00::1": true, "169.254.1.1": true,
		"224.0.0.1": false, "239.255.255.250": false, "255.255.255.255": false, "0.0.0.1": false, "0.1.2.3": false,
		"127.255.255.255": false, // the broadcast address of the loopback's subnet, which every host has
		"ff02::1":         false, "ff0e::1": false, "fe80::1": false, "fe80::1%eth0": false, "2001:db8::1%eth0": false,
		"::1": false, "::ffff:192.0.2.1": false,
	} {
		p := heddle.PortMapping{HostPort: 80, ContainerPort: 80, Protocol: "tcp"}
		if text != "" {
			p.HostIP = netip.MustParseAddr(text)
		}
		err := checkMappings(heddle.EndpointID{Container: "c", IfName: "eth0"}, []heddle.PortMapping{p})
		if taken && err != nil || !taken && !errors.Is(err, heddle.BadPort.Sentinel()) {
			t.Errorf("published on %q: %v", text, err)
		}
	}
}
