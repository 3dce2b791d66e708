package runtimes_test

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/world"
)

// tellNames asks the network's resolver for a container's name and aliases.
func (p podman) tellNames() {
	p.resolve()
	p.run("web", "--network blue:alias=api,alias=www")
	p.run("b", "--network blue --network red")
	p.do("network connect --alias late red web")
	want := addrs(p.endpointOn("blue", p.id("web")))
	for _, name := range []string{"web", "api", "www.blue", p.id("web")[:heddle.ShortID]} {
		p.asks("b", name, want)
	}
	p.asks("b", "late", addrs(p.endpointOn("red", p.id("web"))))
	p.run("d", "--network blue:interface_name=lan7,no_default_route=true")
	p.endpoint(p.id("d"), "lan7")
	if got := p.netns("d").Sh(p.t, "ip -4 route show default; ip -6 route show default"); got != "" {
		p.t.Errorf("a default route in spite of no_default_route: %s", got)
	}
	// a network without names
	p.do("network create --driver heddle --disable-dns mute")
	defer p.do("network rm mute")
	p.run("c", "--network mute")
	mute, err := p.Network(ctx, "mute")
	cell.Must(p.t, err)
	got := p.do("exec c /bin/cat /etc/resolv.conf")
	for _, g := range mute.Gateways {
		if strings.Contains(got, "heddle.internal") || slices.Contains(strings.Fields(got), g.String()) {
			p.t.Errorf("on a network without names: %s", got)
		}
	}
	p.do("rm -f -t 0 c")
}

// asks has a container ask for a name, which has the addresses.
func (p podman) asks(container, name string, want []netip.Addr) {
	p.t.Helper()
	// busybox tries all search domains, and fails for those without such a name
	got, _ := cell.TrySh("podman exec %s /bin/busybox nslookup %s", container, name)
	for _, a := range want {
		if !slices.Contains(strings.Fields(got), a.String()) {
			p.t.Errorf("%s asks for %s, want %s: %s", container, name, a, got)
		}
	}
}

// tellAddresses publishes ports on single addresses of the host, on all of one family, and ranges.
func (p podman) tellAddresses() {
	other, err := net.Listen("tcp", "192.0.2.1:8090")
	if err != nil {
		p.t.Fatal(err)
	}
	defer other.Close()
	asks := func(from world.Netns, network, at string) {
		p.t.Helper()
		if _, err := from.Ask(network, netip.MustParseAddrPort(at)); err != nil {
			p.t.Error(err)
		}
	}
	p.run("a", "--network blue -p 127.0.0.1:8090:80 -p '[2001:db8::1]:8090:80/udp' -p 8100-8102:80-82")
	asks(p.own, "tcp", "127.0.0.1:8100")
	asks(p.own, "tcp", "127.0.0.1:8090")
	asks(p.outside, "udp", "[2001:db8::1]:8090")
	if got := p.endpoint(p.id("a"), "eth0").Ports; len(got) != 5 {
		p.t.Errorf("published: %v", got)
	}
	p.do("restart -t 0 a")
	p.netns("a")
	asks(p.own, "tcp", "127.0.0.1:8100")
	asks(p.own, "tcp", "127.0.0.1:8090")
	// Podman listens for IPv6 alone there, which is not in the way of IPv4
	p.run("six", "--network blue -p '[::]:8095:80'")
	p.run("four", "--network blue -p 192.0.2.1:8095:80 -p 20000-20499:1000-1499")
	for at, name := range map[string]string{"[2001:db8::1]:8095": "six", "192.0.2.1:8095": "four"} {
		if got, err := p.outside.Ask("tcp", netip.MustParseAddrPort(at)); err != nil || got.Server != name {
			p.t.Errorf("%s: %+v %v, want %s", at, got, err, name)
		}
	}
	p.refuses("a port that a program has", "--network blue -p 192.0.2.1:8090:80", p.taken)
}

// tellRootless: a user who is not root is told what to do instead.
func (p podman) tellRootless() {
	const as = `cd /; chmod 1777 /dev/shm; mkdir -p /run/nobody/run; chown -R 65534:65534 /run/nobody; chmod -R 0700 /run/nobody
		nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups env -i HOME=/run/nobody XDG_RUNTIME_DIR=/run/nobody/run PATH="$PATH" podman "$@"; }
		`
	out, err := cell.TrySh(as + "nobody network create --driver heddle mine")
	if err == nil || !strings.Contains(out, "HDL-3006") || !strings.Contains(out, "heddle attach NETWORK --pid PID") {
		p.t.Errorf("rootless: %v %s", err, out)
	}
	cell.Sh(p.t, as+"nobody system migrate; rm -rf /run/nobody") // which ends the process that holds the user's namespace
	poll.For(p.t, time.Minute, 50*time.Millisecond, "the user has no processes", func() bool {
		_, err := cell.TrySh("pgrep -u 65534")
		return err != nil
	})
}

// tellBeside has a container on a network of Podman's own and on one of ours, in both orders.
func (p podman) tellBeside() {
	p.do("network create --subnet 10.99.0.0/24 own")
	defer p.do("network rm own")
	b := p.run("b", "--network blue")
	for _, networks := range []string{"--network own --network blue", "--network blue --network own"} {
		a := p.run("a", networks+" -p 8080:80")
		b.Gets(p.t, "a", 80, addrs(p.endpointOn("blue", p.id("a")))...)
		a.Reaches(p.t, world.Beyond4)
		for at, from := range map[string]world.Netns{"127.0.0.1:8080": p.own, "192.0.2.1:8080": p.outside} {
			if _, err := from.Ask("tcp", netip.MustParseAddrPort(at)); err != nil {
				p.t.Errorf("%s: %v", networks, err)
			}
		}
		p.do("rm -f -t 0 a")
	}
}
