package machines_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
)

// plugRouted: containers of mode routed have addresses of a NIC that is plugged in, and the machine tells them apart.
func plugRouted(t *testing.T, p *plugged, own int) {
	p.vm.Heddle(t, "network", "create", "pods", "--mode", "routed", "--opt", "plug=lan", "--subnet", "10.70.0.0/24", "--subnet", "fd70::/64")
	a, b := p.share(t, "r1"), p.share(t, "r2")
	if a.Parent.Token != b.Parent.Token || a.Parent.Routed == nil || p.devices(t) != own+1 {
		t.Errorf("%d devices, %d before, and the endpoints are %+v and %+v", p.devices(t), own, a, b)
	}
	addr := func(i int) string { return b.Addrs[i].Addr().String() }
	outside := []string{"10.70.0.1", "fd70::1", "10.70.0.200", "172.31.240.12", a.Parent.Routed.Addrs[0].Addr().String(), addr(0), addr(1)}
	p.vm.Run(t, "sh", "-c", "ip netns exec r1 "+pings(outside)+" && ip netns exec r2 "+pings(outside[:4])+" && "+pings([]string{addr(0), addr(1)}))
	p.hv.Run(t, "sh", "-c", "ip netns exec beside "+pings([]string{a.Addrs[0].Addr().String(), addr(0)})+" && "+pings([]string{a.Addrs[1].Addr().String(), addr(1)}))
	for _, as := range []string{addr(0), a.Parent.Routed.Addrs[0].Addr().String()} { // its neighbour's, which the switch would let pass, and the NIC's own
		p.vm.Run(t, "ip", "netns", "exec", "r1", "ip", "address", "add", as+"/32", "dev", "eth0")
		before := p.vm.Run(t, "nft", "list", "counter", "inet", "heddle", "spoofed-ip")
		if out, err := p.vm.TryRun("ip", "netns", "exec", "r1", "ping", "-n", "-c1", "-W1", "-I", as, "10.70.0.200"); err == nil {
			t.Errorf("r1 is answered as %s: %s", as, out)
		}
		if after := p.vm.Run(t, "nft", "list", "counter", "inet", "heddle", "spoofed-ip"); after == before {
			t.Errorf("the machine has not dropped what r1 sends as %s: %s", as, after)
		}
		p.vm.Run(t, "ip", "netns", "exec", "r1", "ip", "address", "delete", as+"/32", "dev", "eth0")
	}
	for _, h := range append(p.machines(), p.hv) {
		h.Heddle(t, "audit")
	}

	if soak.On() { // plugShared does the same
		p.vm.KillAgent(t)
		cell.Must(t, p.ping("r1", "10.70.0.200"))
		p.vm.StartAgent(t)
	}
	p.vm.Heddle(t, "detach", "r1")
	p.vm.Run(t, "sh", "-c", "ip netns exec r2 "+pings(outside[:4]))
	p.vm.Heddle(t, "detach", "r2")
	left := p.vm.Run(t, "sh", "-c", "ip rule; ip -6 rule; ip neighbour show proxy; ip -6 neighbour show proxy")
	if strings.Contains(left, fmt.Sprint("lookup ", a.Parent.Routed.Table)) || strings.Contains(left, " proxy") {
		t.Errorf("left after the last container:\n%s", left)
	}
	p.vm.Run(t, "sh", "-c", "ip netns delete r1; ip netns delete r2")
	p.vm.Heddle(t, "network", "delete", "pods")
	p.left(t, own)
	p.clean(t)
}
