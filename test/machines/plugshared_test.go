package machines_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

// plugShared: containers of mode ipvlan share NICs that are plugged in, each with an address of its own that the hypervisor's guard lets pass.
func plugShared(t *testing.T, p *plugged, own int) {
	p.vm.Heddle(t, "network", "create", "pods", "--mode", "ipvlan", "--opt", "plug=lan", "--subnet", "10.70.0.0/24", "--subnet", "fd70::/64", "--opt", "services=172.20.0.0/16")
	all := map[string]heddle.Endpoint{}
	for _, name := range []string{"s1", "s2", "s3"} { // the configuration allows two addresses a NIC
		all[name] = p.share(t, name)
	}
	if all["s1"].Parent.Token != all["s2"].Parent.Token || all["s1"].Parent.Token == all["s3"].Parent.Token || len(p.nics(t)) != 2 || p.devices(t) != own+2 {
		t.Errorf("NICs %v, %d devices, %d before, and the endpoints are %+v", p.nics(t), p.devices(t), own, all)
	}
	reach := func() {
		t.Helper()
		others, containers := []string{"10.70.0.1", "fd70::1", "10.70.0.200", "172.31.240.1", "172.31.240.12"}, []string{}
		each := ""
		for name, e := range all { // on the same NIC, and by the hypervisor's switch
			containers = append(containers, e.Addrs[0].Addr().String())
			if name != "s1" {
				others = append(others, e.Addrs[0].Addr().String(), e.Addrs[1].Addr().String())
			}
			each += "ip netns exec " + name + " ping -n -c1 -W5 10.70.0.200 || exit 1;"
		}
		p.vm.Run(t, "sh", "-c", "ip netns exec s1 "+pings(others)+" && "+pings(containers)+" && { "+each+" }")
		p.hv.Run(t, "sh", "-c", "ip netns exec beside "+pings(containers))
	}
	reach()
	p.vm.Run(t, "sh", "-c", "nft -f - <<'E'\ntable ip service {\n chain in { type nat hook prerouting priority -100; ip daddr 172.20.0.10 dnat to "+
		all["s3"].Addrs[0].Addr().String()+"; }\n chain out { type nat hook postrouting priority 100; ct status dnat masquerade; }\n}\nE\n")
	cell.Must(t, p.ping("s1", "172.20.0.10"))
	p.vm.Run(t, "nft", "delete", "table", "ip", "service")
	for name, as := range map[string]netip.Addr{"s1": netip.MustParseAddr("10.70.0.201"), "s3": all["s2"].Addrs[0].Addr()} { // nobody's, and another NIC's
		p.vm.Run(t, "ip", "netns", "exec", name, "ip", "address", "add", as.String()+"/32", "dev", "eth0")
		if out, err := p.vm.TryRun("ip", "netns", "exec", name, "ping", "-n", "-c1", "-W1", "-I", as.String(), "10.70.0.200"); err == nil {
			t.Errorf("%s is answered as %v: %s", name, as, out)
		}
		p.vm.Run(t, "ip", "netns", "exec", name, "ip", "address", "delete", as.String()+"/32", "dev", "eth0")
	}
	for _, h := range append(p.machines(), p.hv) {
		h.Heddle(t, "audit")
	}

	p.vm.KillAgent(t)
	p.hv.KillAgent(t)
	for _, a := range all["s3"].Addrs {
		cell.Must(t, p.ping("s1", a.Addr().String()))
	}
	p.hv.StartAgent(t)
	p.vm.StartAgent(t)
	all["s4"] = p.share(t, "s4")
	if all["s4"].Parent.Token != all["s3"].Parent.Token {
		t.Errorf("s4 is on %+v, and NIC %s has room", all["s4"].Parent, all["s3"].Parent.Token)
	}
	reach()
	for _, h := range append(p.machines(), p.hv) {
		h.Heddle(t, "audit")
	}
	if status := p.vm.Heddle(t, "status"); !strings.Contains(status, "2 NICs shared with 4 addresses in use") {
		t.Errorf("the status does not tell of the addresses:\n%s", status)
	}

	p.vm.Heddle(t, "detach", "s1")
	if out, err := p.hv.TryRun("ip", "netns", "exec", "beside", "ping", "-n", "-c1", "-W1", all["s1"].Addrs[0].Addr().String()); err == nil {
		t.Errorf("the address of the former container answers: %s", out)
	}
	p.vm.Run(t, "sh", "-c", "ip netns delete s1; ip netns delete s2") // one ends without a word
	for _, name := range []string{"s2", "s3", "s4"} {
		p.vm.Heddle(t, "detach", name)
	}
	p.vm.Run(t, "sh", "-c", "ip netns delete s3; ip netns delete s4")
	p.vm.Heddle(t, "network", "delete", "pods") // the addresses need not cool then
	p.left(t, own)
	p.clean(t)
}

// pings is a command that sends an echo request to each.
func pings(to []string) string {
	return "sh -c 'for a in " + strings.Join(to, " ") + "; do ping -n -c1 -W5 $a || { echo no answer from $a; exit 1; }; done'"
}

// share attaches a namespace in the machine to network pods, which it makes.
func (p *plugged) share(t *testing.T, name string) heddle.Endpoint {
	t.Helper()
	p.vm.Run(t, "ip", "netns", "add", name)
	r, err := p.vm.Client.Attach(t.Context(), heddle.AttachRequest{Network: "pods", ID: heddle.EndpointID{Container: name, IfName: "eth0"}, Netns: "/run/netns/" + name})
	cell.Must(t, err)
	if r.Endpoint.Parent == nil || len(r.Endpoint.Addrs) != 2 || len(r.Gateways) != 2 {
		t.Fatalf("the answer is %+v", r)
	}
	return r.Endpoint
}
