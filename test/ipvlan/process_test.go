package ipvlan_test

import (
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

// uplink gives the cell's own host a NIC on a network with a router.
func uplink(t *testing.T) {
	t.Helper()
	needIPvlan(t)
	cell.Netns(t, "router")
	cell.Sh(t, `ip link add up0 type veth peer name far0 netns router
		ip address add 192.0.2.1/24 dev up0; ip address add 2001:db8::1/64 dev up0 nodad; ip link set up0 up
		ip -n router address add 192.0.2.2/24 dev far0; ip -n router address add 2001:db8::2/64 dev far0 nodad
		ip -n router link set far0 up; ip route add default via 192.0.2.2; ip route add default via 2001:db8::2`)
	t.Cleanup(func() { cell.TrySh("ip link del up0") })
}

// onUplink is a network there, with services by a redirect.
func onUplink(services, redirect string) heddle.Network {
	return heddle.Network{Name: "pods", Mode: "ipvlan", Parent: "up0", Options: map[string]string{"services": services, "redirect": redirect},
		Ranges: []netip.Prefix{netip.MustParsePrefix("192.0.2.128/25"), netip.MustParsePrefix("2001:db8::1:0/112")}}
}

// TestStaleRedirects: an agent is killed, and another one starts without its folders,
// so with another configuration. It takes the old one's redirects away, and makes those
// of its own network by another way.
func TestStaleRedirects(t *testing.T) {
	uplink(t)
	redirects := func(want int) {
		t.Helper()
		out := cell.Sh(t, "tc filter show dev up0 egress")
		if got := strings.Count(out, "heddle redirect") + strings.Count(out, "mirred"); got != want {
			t.Errorf("%d redirects, want %d:\n%s", got, want, out)
		}
	}
	for old, now := range map[string]string{"ebpf": "u32", "u32": "ebpf"} {
		a := cell.Start(t, t.TempDir())
		if _, _, err := a.CreateNetwork(ctx, onUplink(servicePrefixes+",172.20.0.0/16", old), false); err != nil {
			t.Fatal(err)
		}
		redirects(3)
		a.Kill()
		a = cell.Start(t, t.TempDir())
		a.AuditEmpty(t) // which waits until it has compared the host with its plans
		if out := cell.Sh(t, "tc qdisc show dev up0; ip -o link show type ipvlan"); strings.Contains(out, "clsact") || strings.Contains(out, heddle.PrefixSlave) {
			t.Errorf("an agent without networks leaves %s", out)
		}
		if _, _, err := a.CreateNetwork(ctx, onUplink(servicePrefixes, now), false); err != nil {
			t.Fatal(err)
		}
		redirects(2)
		a.AuditEmpty(t)
		if err := a.DeleteNetwork(ctx, "pods"); err != nil {
			t.Error(err)
		}
		a.Kill()
	}
}

// TestCommandLine: a bare namespace is put on a network of the mode by hand.
func TestCommandLine(t *testing.T) {
	uplink(t)
	netns, a := cell.Netns(t, "c1"), cell.Start(t, t.TempDir())
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(cell.Build(t, "heddle"), append(args, "--socket", a.Socket)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("heddle %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run("network", "create", "pods", "--mode", "ipvlan", "--parent", "up0", "--ip-range", "192.0.2.128/25", "--ip-range", "2001:db8::1:0/112")
	if out := run("attach", "pods", "--netns", netns, "--dry-run"); !strings.Contains(out, "type ipvlan") {
		t.Errorf("the plan is\n%s", out)
	}
	run("attach", "pods", "--netns", "c1", "--ip", "192.0.2.200", "--ip", "2001:db8::1:200")
	if out := run("endpoint", "show", "c1"); !strings.Contains(out, "192.0.2.200") {
		t.Errorf("the endpoint is\n%s", out)
	}
	for from, all := range map[string][]string{"c1": {"192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"}, "router": {"192.0.2.200", "2001:db8::1:200"}} {
		for _, to := range all {
			cell.Sh(t, "ip netns exec %s ping -n -c1 -W20 %s", from, to)
		}
	}
	cell.Sh(t, "ping -n -c1 -W20 192.0.2.200; ping -n -c1 -W20 2001:db8::1:200")
	run("check", "c1")
	run("detach", "c1")
	if out := cell.Sh(t, "ip -n c1 -o link show type ipvlan"); out != "" {
		t.Errorf("left in the container: %s", out)
	}
	run("network", "delete", "pods")
	run("audit")
}
