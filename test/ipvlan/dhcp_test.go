package ipvlan_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

func byDHCP(n *heddle.Network) {
	n.Subnets = nil
	world.With("addresses=dhcp")(n)
}

// TestDHCP: containers behind one MAC address have addresses of their own from a real server, which knows them by their client
// identifiers. Leases are renewed and given back one by one.
func TestDHCP(t *testing.T) {
	needIPvlan(t)
	w := world.New(t)
	dir := t.TempDir()
	cell.Sh(t, "[ -e /etc/passwd ] || echo 'root:x:0:0::/:/bin/sh' >/etc/passwd") // a guest knows no users
	w.Outside.Sh(t, "dnsmasq --conf-file=/dev/null --port=0 --interface=eth0 --bind-interfaces --no-ping --user=root --dhcp-authoritative "+
		"--dhcp-range=192.0.2.50,192.0.2.59,255.255.255.0,2m --dhcp-option=option:router,192.0.2.2 --dhcp-option=option:T1,3 --dhcp-option=option:T2,60 --dhcp-leasefile=%[1]s/leases --pid-file=%[1]s/pid", dir)
	t.Cleanup(func() { cell.TrySh("kill $(cat %s/pid)", dir) })
	leased := func(a netip.Addr) bool {
		text, _ := os.ReadFile(dir + "/leases")
		return strings.Contains(string(text), " "+a.String()+" ")
	}
	w.Network(t, "lan", "ipvlan", byDHCP)
	a, b := w.Pod(t, "a", "lan"), w.Pod(t, "b", "lan")
	if a.V4() == b.V4() || a.Endpoint.MAC != b.Endpoint.MAC || !leased(a.V4()) || !leased(b.V4()) {
		t.Fatalf("a %+v, b %+v", a.Endpoint, b.Endpoint)
	}
	for _, p := range []*world.Pod{a, b} {
		p.Reaches(t, world.Outside4, world.Beyond4, world.Host4)
		w.Host.Reaches(t, p.V4())
		w.Outside.Reaches(t, p.V4())
	}
	a.Reaches(t, b.V4())
	w.Restart(t, nil)
	for _, p := range []*world.Pod{a, b} {
		world.Soon(t, "the lease is renewed", func() error {
			e, err := w.Endpoint(p.Endpoint.ID)
			if err == nil && (!e.DHCP.Held || !e.DHCP.Expires.After(p.Endpoint.DHCP.Expires) || e.Addrs[0] != p.Endpoint.Addrs[0]) {
				err = fmt.Errorf("%+v", e.DHCP)
			}
			return err
		})
	}
	a.Leave(t)
	world.Soon(t, "one lease is given back", func() error {
		if leased(a.V4()) || !leased(b.V4()) {
			return errors.New("not yet")
		}
		return nil
	})
	b.Reaches(t, world.Beyond4)
	w.AuditEmpty(t)
}

// TestDHCPByMAC: a server that knows clients by their MAC addresses leases all containers one address. The second one is refused, the first
// one's lease stands, and is neither declined nor released.
func TestDHCPByMAC(t *testing.T) {
	needIPvlan(t)
	w := world.New(t)
	s := w.ServeDHCP(t)
	s.Set(func() { s.Lease, s.T1 = time.Hour, time.Minute })
	w.Network(t, "lan", "ipvlan", byDHCP)
	a := w.Pod(t, "a", "lan")
	short, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	_, err := w.Attach(short, w.Request(world.NewNetns(t, "b"), "lan"))
	if !errors.Is(err, heddle.NoLease.Sentinel()) || !strings.Contains(err.Error(), "client identifier") {
		t.Errorf("error: %v", err)
	}
	if s.Count(dhcpv4.MessageTypeDecline)+s.Count(dhcpv4.MessageTypeRelease) > 0 {
		t.Errorf("heard: %v", s.Asked())
	}
	a.Reaches(t, world.Outside4)
	w.AuditEmpty(t)
}
