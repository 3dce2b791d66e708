package bench

import (
	"os/exec"
	"strings"
	"testing"
)

func TestReadOffloads(t *testing.T) {
	text := "Features for eth0:\nrx-checksumming: off [fixed]\ntx-checksumming: on\n\ttx-checksum-ipv4: off [fixed]\nscatter-gather: on\n" +
		"tcp-segmentation-offload: on\n\ttx-tcp-segmentation: on\ngeneric-segmentation-offload: on\ngeneric-receive-offload: off\nrx-vlan-offload: on\n"
	if got := readOffloads(text); got != "tx checksum, scatter-gather, TSO, GSO" {
		t.Error(got)
	}
	if got := readOffloads("Features for eth0:\n"); got != "none" {
		t.Error(got)
	}
}

// TestLivePaths reads real devices in namespaces.
func TestLivePaths(t *testing.T) {
	needTools(t)
	columns := wired(t)
	ip(t, "-n", columns[0].Pairs[0].Client.Name, "link", "set", "eth0", "mtu", "1400")
	columns[1].Pairs[0].Client.Command = inside("no-such-namespace", "10.0.0.1").Command
	all := readPaths(t.Context(), Matrix{Columns: columns})
	host, ok := all["host/same-host"]
	if !ok || host.Device != "eth0" || host.MTU != 1400 || len(all) != 1 {
		t.Errorf("%+v", all)
	}
	_, err := exec.LookPath("ethtool")
	if known := strings.Contains(host.Offloads, "GSO"); known != (err == nil) {
		t.Errorf("offloads %q, ethtool: %v", host.Offloads, err)
	}
}
