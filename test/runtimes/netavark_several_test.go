package runtimes_test

import (
	"strings"

	"github.com/heddle-network/heddle/test/cell"
)

// tellSeveral has containers on several networks, of which one publishes ports. netavark sets them up in
// no order, and Podman numbers their interfaces in no order: the ports are published in any case, and the
// default route belongs to the first interface that can have it.
func (p podman) tellSeveral() {
	p.do("network create --driver heddle --internal inner")
	defer p.do("network rm inner")
	for range 10 {
		a := p.run("a", "--network inner --network blue"+p.publish(8080))
		p.published("a", 8080)
		if on := p.endpointOn("blue", p.id("a")); len(on.Ports) != 2 || !on.DefaultRoute {
			p.t.Errorf("on blue: %+v", on)
		}
		if on := p.endpointOn("inner", p.id("a")); len(on.Ports) != 0 || on.DefaultRoute {
			p.t.Errorf("on inner: %+v", on)
		}
		a.Sh(p.t, "ip route get 203.0.113.9")
		p.do("rm -f -t 0 a")
	}
	p.run("a", "--network blue:interface_name=eth2 --network inner:interface_name=eth0 --network red:interface_name=eth1"+p.publish(8080))
	for range 8 {
		if on := p.endpointOn("red", p.id("a")); on.ID.IfName != "eth1" || len(on.Ports) != 2 || !on.DefaultRoute {
			p.t.Errorf("on red: %+v", on)
		}
		if on := p.endpointOn("blue", p.id("a")); len(on.Ports) != 0 || on.DefaultRoute {
			p.t.Errorf("on blue: %+v", on)
		}
		if got := p.netns("a").Sh(p.t, "ip route show default"); !strings.Contains(got, "dev eth1") || strings.Contains(got, "\n") {
			p.t.Errorf("default routes: %s", got)
		}
		p.published("a", 8080)
		p.do("restart -t 0 a")
	}
	p.do("rm -f -t 0 a")
	out, err := cell.TrySh("podman run --rm --network inner%s box /bin/sleep 0", p.publish(8080))
	if err != nil || !strings.Contains(out, "network inner does not publish 8080:80/tcp, 8080:80/udp: it is internal") {
		p.t.Errorf("ports that no network can publish: %v %s", err, out)
	}
}
