package machines_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/cloud"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// plugCloudShared: containers of mode ipvlan share NICs of a cloud, each with addresses of its own, which the cloud assigns. None reaches the metadata
// service, whatever it does with its routes.
func plugCloudShared(t *testing.T, p *plugged, c *localCloud) {
	soak.Need(t, "takes a minute or two where the processor is emulated, and package aliyun asks the same cloud for addresses")
	const beside4, beside6, closed6 = "100.100.100.201", "fd00:100::100:201", "fd00:100::100:200"
	own, vm := p.devices(t), p.vm
	calls := func() (said cloud.Said) {
		cell.Must(t, c.call(http.MethodGet, "/", nil, &said))
		return said
	}
	p.hv.Run(t, "sh", "-c", "ip address add "+beside4+"/32 dev lo; ip address add "+closed6+"/128 dev lo nodad; ip address add "+beside6+"/128 dev lo nodad")
	c.set(cloud.Faults{Delay: 200 * time.Millisecond, Lag: 700 * time.Millisecond, Throttled: 2})
	vm.Heddle(t, "network", "create", "pods", "--mode", "ipvlan", "--opt", "plug=lan", "--subnet", "10.72.0.0/24", "--subnet", "fd72::/64")
	all := map[string]heddle.Endpoint{}
	for _, name := range []string{"s1", "s2", "s3"} { // the type of the instance allows two a NIC, besides the first addresses
		start := time.Now()
		all[name] = p.share(t, name)
		t.Logf("%s has %v: %.2f s", name, all[name].Addrs, time.Since(start).Seconds())
	}
	c.is(2)
	if all["s1"].Parent.Token != all["s2"].Parent.Token || all["s1"].Parent.Token == all["s3"].Parent.Token || p.devices(t) != own+2 {
		t.Errorf("%d devices, %d before, and the endpoints are %+v", p.devices(t), own, all)
	}
	others, containers := []string{"10.72.0.253", "fd72::ffff:ffff:ffff:fffd", beside4, beside6, "172.31.240.1"}, []string{}
	for name, e := range all {
		containers = append(containers, e.Addrs[0].Addr().String())
		if name != "s1" {
			others = append(others, e.Addrs[0].Addr().String(), e.Addrs[1].Addr().String())
		}
	}
	vm.Run(t, "sh", "-c", "ip netns exec s1 "+pings(others)+" && "+pings(containers))

	in := func(name, script string) error {
		out, err := vm.TryRun("ip", "netns", "exec", name, "sh", "-c", script)
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	reachesMetadata := func(when string) {
		t.Helper()
		for _, to := range []string{cloud.MetadataAddr, closed6} {
			if in("s1", "ping -n -c1 -W1 "+to) == nil {
				t.Errorf("%s, a container reaches the metadata service at %s", when, to)
			}
		}
	}
	reachesMetadata("as it was attached")
	cell.Must(t, in("s1", "ip route delete unreachable "+cloud.MetadataAddr+" && ip -6 route delete unreachable "+closed6))
	cell.Must(t, in("s1", "ping -n -c1 -W5 "+beside4+" && ping -n -c1 -W5 "+beside6)) // the way there is as before
	reachesMetadata("without its routes")
	vm.Run(t, "ping", "-n", "-c1", "-W5", cloud.MetadataAddr)

	// the agent is killed while the cloud assigns an address
	before := calls().Calls["AssignPrivateIpAddresses"]
	vm.Run(t, "ip", "netns", "add", "s4")
	request := heddle.AttachRequest{Network: "pods", ID: heddle.EndpointID{Container: "s4", IfName: "eth0"}, Netns: "/run/netns/s4"}
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		vm.Client.Attach(context.Background(), request)
	}()
	world.Soon(t, "the agent asks for an address", func() error {
		if calls().Calls["AssignPrivateIpAddresses"] == before {
			return fmt.Errorf("%d calls", before)
		}
		return nil
	})
	vm.KillAgent(t)
	<-killed
	cell.Must(t, p.ping("s2", all["s3"].Addrs[0].Addr().String()))
	vm.StartAgent(t)
	r, err := vm.Client.Attach(t.Context(), request)
	cell.Must(t, err)
	if said := calls(); r.Endpoint.Parent.Token != all["s3"].Parent.Token || said.Further != 8 || len(said.IDs) != 2 {
		t.Errorf("s4 is on %+v, s3 on %+v; the cloud has %d further addresses of %v", r.Endpoint.Parent, all["s3"].Parent, said.Further, said.IDs)
	}
	for _, a := range r.Endpoint.Addrs {
		cell.Must(t, p.ping("s1", a.Addr().String()))
	}
	for _, name := range []string{"s1", "s2", "s3", "s4"} {
		vm.Heddle(t, "detach", name)
		vm.Run(t, "ip", "netns", "delete", name)
	}
	vm.Heddle(t, "network", "delete", "pods")
	c.set(cloud.Faults{})
	c.is(0)
	vm.Heddle(t, "audit")
	p.hv.Run(t, "sh", "-c", "ip address delete "+beside4+"/32 dev lo; ip address delete "+closed6+"/128 dev lo nodad; ip address delete "+beside6+"/128 dev lo nodad")
}
