package machines_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/cloud"
	"github.com/heddle-network/heddle/test/soak"
)

// router6 is the IPv6 router of EC2's subnets, which is in none of them. behind is what only it knows the way to.
const router6, behind = "fe80:ec2::1", "fd99::1"

func asEC2() spoken {
	return spoken{ec2: true, metadata: cloud.EC2MetadataAddr, subnet: "subnet-1", config: `aws:
  networks:
    lan: {subnet: subnet-1, securityGroups: [sg-1]}
  ec2: 172.31.240.11:7443
  ca: /run/cloud.pem
`, network: []string{"--gateway", "10.72.0.1", "--ip-range", "10.72.0.64/26"}} // the first four addresses are the cloud's
}

// plugEC2: a machine's agent orders NICs of a cloud that speaks as EC2 does, whose IPv6 router is outside of all subnets.
func plugEC2(t *testing.T, p *plugged, _ int) {
	own, vm := p.devices(t), p.vm
	c := p.startCloud(t, asEC2())
	defer c.stop()
	c.set(cloud.Faults{Delay: 300 * time.Millisecond, Lag: 700 * time.Millisecond, Throttled: 2})
	bridge := strings.TrimSpace(p.hv.Run(t, "sh", "-c", "ip -o -6 address show | awk '$4 ~ /^fd72:/ {print $2}'"))
	p.hv.Run(t, "sh", "-c", "ip address add "+router6+"/64 dev "+bridge+" nodad; ip address add "+behind+"/128 dev lo nodad")

	vm.Heddle(t, "network", "create", "cloud", "--mode", "direct", "--opt", "plug=lan")
	e := p.attach(t, "c1", "cloud")
	if !slices.Contains(e.NIC.Plugged.Gateways, netip.MustParseAddr(router6)) {
		t.Errorf("the gateways are %v", e.NIC.Plugged.Gateways)
	}
	for _, to := range []string{"10.72.0.1", "172.31.240.1", behind} {
		cell.Must(t, p.ping("c1", to))
	}
	if p.ping("c1", cloud.EC2MetadataAddr) == nil {
		t.Error("the container reaches the metadata service, which would give it the instance's credentials")
	}
	vm.Heddle(t, "audit")
	if soak.On() { // plugCloud does the same
		vm.KillAgent(t)
		vm.StartAgent(t)
		cell.Must(t, p.ping("c1", behind))
	}
	vm.Heddle(t, "detach", "c1")
	c.is(0)
	vm.Heddle(t, "network", "delete", "cloud")
	t.Run("shared", func(t *testing.T) { plugEC2Shared(t, p, c) })
	if n := p.devices(t); n != own {
		t.Errorf("%d devices, %d before", n, own)
	}
	vm.Heddle(t, "audit")
	vm.Run(t, "sh", "-c", "ip netns delete c1; ip route delete "+cloud.EC2MetadataAddr+"/32")
	vm.KillAgent(t)
	vm.StartAgent(t, agentArgs...)
	c.stop()
	p.hv.Run(t, "sh", "-c", "ip address delete "+router6+"/64 dev "+bridge+"; ip address delete "+behind+"/128 dev lo nodad")
	p.hv.Heddle(t, "network", "delete", "vsw")
	p.serve()
}

// plugEC2Shared: containers of modes ipvlan and routed share NICs, and leave by a router outside of their subnet.
func plugEC2Shared(t *testing.T, p *plugged, c *localCloud) {
	soak.Need(t, "takes a minute or two where the processor is emulated; plugCloudShared has the same of another cloud")
	for _, mode := range []string{"ipvlan", "routed"} {
		p.vm.Heddle(t, "network", "create", "pods", "--mode", mode, "--opt", "plug=lan", "--subnet", "10.72.0.0/24", "--subnet", "fd72::/64")
		all := map[string]heddle.Endpoint{}
		for _, name := range []string{mode + "1", mode + "2"} {
			all[name] = p.share(t, name)
		}
		c.is(1)
		for name, e := range all {
			t.Logf("%s has %v", name, e.Addrs)
			for _, to := range []string{"10.72.0.1", "172.31.240.1", behind, all[mode+"1"].Addrs[1].Addr().String()} {
				cell.Must(t, p.ping(name, to))
			}
			if p.ping(name, cloud.EC2MetadataAddr) == nil {
				t.Errorf("%s reaches the metadata service", name)
			}
		}
		p.vm.Heddle(t, "audit")
		for name := range all {
			p.vm.Heddle(t, "detach", name)
			p.vm.Run(t, "ip", "netns", "delete", name)
		}
		p.vm.Heddle(t, "network", "delete", "pods")
		c.is(0)
	}
}
