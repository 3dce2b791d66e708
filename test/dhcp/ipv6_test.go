package dhcp_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// byLAN has a network's addresses come from the LAN, in both families.
func byLAN(n *heddle.Network) {
	n.Subnets = nil
	world.With("addresses=dhcp")(n)
	world.With("ipv6=auto")(n)
}

// advertise runs a server of both families, which advertises itself as a router, too.
func advertise(t *testing.T, w *world.World, flags ...string) *dnsmasq {
	t.Helper()
	cell.Sh(t, "sysctl -qw net.ipv6.conf.up0.accept_ra=0") // the host's own addresses stay as they are
	return startDnsmasq(t, w.Outside, append([]string{"--enable-ra"}, flags...)...)
}

// has6 waits until a container has so many global IPv6 addresses, by its endpoint and by its kernel, and returns them.
func has6(t *testing.T, w *world.World, p *world.Pod, sources ...string) (all []heddle.LANAddress) {
	t.Helper()
	world.Within(t, 2*world.Patience, fmt.Sprintf("%s has addresses by %v", p.Name, sources), func() error {
		e, err := w.Endpoint(p.Endpoint.ID)
		if err != nil {
			return err
		}
		var is, want, by []string
		for _, line := range strings.Split(p.Sh(t, "ip -6 -o address show dev eth0 scope global"), "\n") {
			if f := strings.Fields(line); len(f) > 3 {
				is = append(is, f[3])
				if strings.Contains(line, "temporary") || strings.Contains(line, "dynamic") || strings.Contains(line, "tentative") {
					return fmt.Errorf("the kernel has %s", line)
				}
			}
		}
		for _, a := range e.DHCP.IPv6.Addresses {
			want, by = append(want, a.Address.String()), append(by, a.Source)
		}
		slices.Sort(is)
		slices.Sort(want)
		if all = e.DHCP.IPv6.Addresses; !slices.Equal(is, want) || !slices.Equal(by, sources) {
			return fmt.Errorf("the kernel has %v, the endpoint %+v", is, *e.DHCP.IPv6)
		}
		return nil
	})
	return all
}

// TestStateless: from a router's advertisement a container has a stable address and its default route, is reached at it, keeps both over an
// agent's restart, and gets the same address again.
func TestStateless(t *testing.T) {
	w := world.New(t)
	advertise(t, w, "--dhcp-range=2001:db8::,ra-only,64,2h", "--ra-param=eth0,mtu:1320,0,1800")
	w.Network(t, "lan", "macvlan", byLAN)
	began := time.Now()
	a := w.Pod(t, "a", "lan")
	t.Logf("attached with addresses in %v", time.Since(began).Round(time.Millisecond))
	got := has6(t, w, a, heddle.SourceSLAAC)[0].Address
	six := a.Endpoint.DHCP.IPv6
	if got.Bits() != 64 || got.Addr() == a.Endpoint.MAC.LinkLocal() || !six.Router.IsLinkLocalUnicast() || a.Endpoint.MTU != 1320 || six.DHCP != "" {
		t.Errorf("%s, %+v, MTU %d", got, six, a.Endpoint.MTU)
	}
	eui := a.Endpoint.MAC.LinkLocal().As16()
	if is := got.Addr().As16(); string(is[8:]) == string(eui[8:]) {
		t.Errorf("%s has the MAC address in it", got)
	}
	if !slices.Contains(a.Endpoint.Addrs, got) {
		t.Errorf("the attach says %v", a.Endpoint.Addrs)
	}
	a.Reaches(t, world.Outside4, world.Outside6, world.Beyond6, world.Host6)
	w.Outside.Reaches(t, got.Addr())
	w.Host.Reaches(t, got.Addr())
	w.AuditEmpty(t)
	w.Restart(t, func() { a.Reaches(t, world.Beyond6) })
	if again := has6(t, w, a, heddle.SourceSLAAC)[0].Address; again != got {
		t.Errorf("was %s, is %s", got, again)
	}
	a.Reaches(t, world.Beyond6)
	w.AuditEmpty(t)
	a.Leave(t)
	if b := w.PodIn(t, a.Netns, "lan"); has6(t, w, b, heddle.SourceSLAAC)[0].Address != got {
		t.Errorf("attached again: was %s, is %v", got, b.Endpoint.Addrs)
	}
}

// TestStateful: with the M flag a DHCPv6 server gives the address, confirms it after a restart, and gets it back; another container beside has
// another one.
func TestStateful(t *testing.T) {
	w := world.New(t)
	server := advertise(t, w, "--dhcp-range=2001:db8::50,2001:db8::59,64,2m")
	w.Network(t, "lan", "macvlan", byLAN)
	a := w.Pod(t, "a", "lan")
	got := has6(t, w, a, heddle.SourceDHCPv6)[0]
	six := a.Endpoint.DHCP.IPv6
	if got.Address.Bits() != 64 || six.Server == "" || !six.Renew.After(time.Now()) || !server.has(got.Address.Addr()) || time.Until(got.Valid) > 2*time.Minute {
		t.Errorf("%+v", six)
	}
	a.Reaches(t, world.Outside6, world.Beyond6, world.Host6)
	w.Host.Reaches(t, got.Address.Addr())
	b := w.Pod(t, "b", "lan")
	other := has6(t, w, b, heddle.SourceDHCPv6)[0]
	if other.Address == got.Address {
		t.Errorf("%s twice", got.Address)
	}
	b.Reaches(t, got.Address.Addr(), world.Beyond6)
	w.AuditEmpty(t)
	w.Restart(t, nil)
	world.Soon(t, "the server is asked whether the address stands", func() error {
		if log := server.log(); strings.Count(log, "DHCPCONFIRM") < 2 {
			return errors.New(log)
		}
		return nil
	})
	if has6(t, w, a, heddle.SourceDHCPv6)[0].Address != got.Address {
		t.Error("another address after the restart")
	}
	a.Reaches(t, world.Beyond6)
	w.AuditEmpty(t)
	a.Leave(t)
	server.getsBack(t, got.Address.Addr())
	world.Soon(t, "the other container's lease stands", func() error { // the file is written anew
		if !server.has(other.Address.Addr()) {
			return errors.New(server.log())
		}
		return nil
	})
}

// TestBoth: a router that names a prefix and a server gives two addresses, with one default route.
func TestBoth(t *testing.T) {
	w := world.New(t)
	advertise(t, w, "--dhcp-range=2001:db8::50,2001:db8::59,slaac,64,2m", "--dhcp-option=option6:dns-server,[2001:db8::53]")
	w.Network(t, "lan", "macvlan", byLAN)
	a := w.Pod(t, "a", "lan")
	has6(t, w, a, heddle.SourceSLAAC, heddle.SourceDHCPv6)
	for _, p := range a.Endpoint.Addrs {
		w.Outside.Reaches(t, p.Addr())
		w.Host.Reaches(t, p.Addr())
	}
	a.Reaches(t, world.Beyond6)
	if out := a.Sh(t, "ip -6 route show default"); strings.Count(out, "default") != 1 {
		t.Errorf("routes: %s", out)
	}
	w.AuditEmpty(t)
}

// TestNoRouter: on a LAN without a router the attach does not fail, nor wait long; addresses come with the router.
func TestNoRouter(t *testing.T) {
	w := world.New(t)
	s := w.ServeDHCP(t)
	s.Set(func() { s.Lease, s.T1 = time.Hour, time.Minute })
	w.Network(t, "lan", "macvlan", byLAN)
	began := time.Now()
	a := w.Pod(t, "a", "lan")
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("attached in %v", took)
	}
	has6(t, w, a)
	w.AuditEmpty(t)
	cell.Sh(t, "sysctl -qw net.ipv6.conf.up0.accept_ra=0")
	p := newProgram(t)
	p.start(t, w.Outside, "IPv6 router advertisement enabled", dnsmasqPath(t), "--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--interface=eth0", "--bind-interfaces",
		"--user=root", "--enable-ra", "--dhcp-range=2001:db8::,ra-only,64,2h", "--dhcp-leasefile="+p.dir+"/leases", "--log-facility=-")
	has6(t, w, a, heddle.SourceSLAAC)
	a.Reaches(t, world.Beyond6)
	w.AuditEmpty(t)
}

// TestRouterLater: a container that had no router at first has a default route when one comes, though its addresses stay the same.
func TestRouterLater(t *testing.T) {
	w := world.New(t)
	s := w.ServeDHCP(t)
	s.Set(func() {
		s.Lease, s.T1 = time.Hour, time.Minute
		s.Change = func(_, a *dhcpv4.DHCPv4) bool {
			a.Options.Del(dhcpv4.OptionRouter)
			return true
		}
	})
	w.Network(t, "lan", "macvlan", byLAN)
	cell.Sh(t, "sysctl -qw net.ipv6.conf.up0.accept_ra=0")
	says := world.Advertisement{From: netip.MustParseAddr("fe80::2"), Prefixes: []netip.Prefix{netip.MustParsePrefix("2001:db8:1::/64")}}
	advertises := func() { cell.Must(t, w.Outside.TrySend("eth0", says.Frame(t, make([]byte, 6)))) }
	a := w.Pod(t, "a", "lan")
	advertises()
	has6(t, w, a, heddle.SourceSLAAC)
	says.Lifetime = time.Hour
	advertises()
	world.Soon(t, "there is a default route", func() error {
		if out := a.Sh(t, "ip -6 route show default"); !strings.Contains(out, "via fe80::2") {
			return fmt.Errorf("%q", out)
		}
		return nil
	})
	w.AuditEmpty(t)
}

// TestIPv6Refused: what cannot be had is refused in words.
func TestIPv6Refused(t *testing.T) {
	w := world.New(t)
	for name, c := range map[string]struct {
		mode   string
		change world.NetworkOption
	}{
		"unknown way":  {"macvlan", func(n *heddle.Network) { byDHCP(n); n.Options["ipv6"] = "always" }},
		"without DHCP": {"macvlan", func(n *heddle.Network) { world.With("ipv6=auto")(n) }},
		"subnet":       {"macvlan", func(n *heddle.Network) { byLAN(n); n.Subnets = []netip.Prefix{netip.MustParsePrefix("2001:db8::/64")} }},
		"bridge":       {"bridge", func(n *heddle.Network) { world.With("ipv6=auto")(n) }},
	} {
		_, _, err := w.CreateNetwork(w.Plan("lan", c.mode, c.change), false)
		if t.Log(name, err); !errors.Is(err, heddle.BadOption.Sentinel()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.Network(t, "lan", "macvlan", byLAN)
	_, err := w.Attach(ctx, w.Request(world.NewNetns(t, "a"), "lan", func(r *heddle.AttachRequest) { r.Handover = true }))
	if t.Log("handover", err); !errors.Is(err, heddle.BadOption.Sentinel()) || !strings.Contains(err.Error(), "routers") {
		t.Errorf("handover: %v", err)
	}
}

// TestKilledIPv6: an agent that is killed takes no IPv6 address along. The next one keeps them, and follows a router that has come meanwhile.
func TestKilledIPv6(t *testing.T) {
	soak.Turn(t, 0)
	w := world.New(t) // for its LAN
	advertise(t, w, "--dhcp-range=2001:db8::50,2001:db8::59,slaac,64,2m")
	dir, pod := t.TempDir(), world.NewNetns(t, "killed")
	a := cell.Start(t, dir)
	n := heddle.Network{Name: "lan", Mode: "macvlan", Parent: "up0", Options: map[string]string{"addresses": "dhcp", "ipv6": "auto"}}
	_, _, err := a.CreateNetwork(ctx, n, false)
	cell.Must(t, err)
	made, err := a.Attach(ctx, w.Request(pod, "lan"))
	cell.Must(t, err)
	was := made.Endpoint.DHCP.IPv6.Prefixes()
	if pod.Reaches(t, world.Outside6, world.Beyond6); len(was) != 2 {
		t.Fatalf("%+v", *made.Endpoint.DHCP.IPv6)
	}
	a.Kill()
	pod.Reaches(t, world.Beyond6)
	second := world.Advertisement{From: netip.MustParseAddr("fe80::99"), Prefixes: []netip.Prefix{netip.MustParsePrefix("2001:db8:99::/64")}}
	a = cell.Start(t, dir)
	world.Soon(t, "both routers are followed", func() error {
		w.Outside.Send(t, "eth0", second.Frame(t, heddle.MAC("0a:00:00:00:00:99").Bytes()))
		e, err := a.Endpoint(ctx, made.Endpoint.ID)
		if err == nil && (len(e.Addrs) != 4 || !slices.Equal(e.DHCP.IPv6.Prefixes()[:2], was) || !strings.Contains(pod.Sh(t, "ip -6 address show dev eth0"), e.Addrs[3].String())) {
			err = fmt.Errorf("%v, was %v", e.Addrs, was)
		}
		return err
	})
	pod.Reaches(t, world.Beyond6)
	a.AuditEmpty(t)
	_, err = a.Detach(ctx, made.Endpoint.ID)
	cell.Must(t, err)
	cell.Must(t, a.DeleteNetwork(ctx, "lan"))
	a.AuditEmpty(t)
	a.Stop()
}
