package dhcp_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/world"
)

// TestInUse: an address that somebody on the LAN has is declined, and another one taken. So are those that
// a container beside and the host have, which the LAN does not hear of.
func TestInUse(t *testing.T) {
	w := world.New(t)
	s := w.ServeDHCP(t)
	s.Set(func() { s.Lease, s.T1 = time.Hour, time.Minute }) // it takes a renewal of another address than the next for a mistake
	w.Outside.Sh(t, "ip address add 192.0.2.50/32 dev eth0")
	w.Network(t, "lan", "macvlan", byDHCP)
	a := w.Pod(t, "a", "lan")
	has(t, w, a, "192.0.2.51/24")
	if s.Count(dhcpv4.MessageTypeDecline) != 1 {
		t.Errorf("heard: %v", s.Asked())
	}
	has(t, w, w.Pod(t, "b", "lan"), "192.0.2.52/24")
	s.Set(func() { s.Offers[0] = world.Host4 })
	has(t, w, w.Pod(t, "c", "lan"), "192.0.2.53/24")
	if s.Count(dhcpv4.MessageTypeDecline) != 3 {
		t.Errorf("heard: %v", s.Asked())
	}
	s.Set(func() { s.Offers = []netip.Addr{netip.MustParseAddr("192.0.2.51")} })
	_, err := w.Attach(ctx, w.Request(world.NewNetns(t, "d"), "lan"))
	wantCode(t, err, heddle.NoLease)
	if err == nil || !strings.Contains(err.Error(), "endpoint a/eth0 has 192.0.2.51") {
		t.Errorf("error: %v", err)
	}
	if n := s.Count(dhcpv4.MessageTypeDecline); n > 5 {
		t.Errorf("declined %d times: %v", n, s.Asked())
	}
	w.AuditEmpty(t)
}

// TestNoARP: a container that answers no ARP, so that the server's answers to its address do not come,
// keeps its lease.
func TestNoARP(t *testing.T) {
	w := world.New(t)
	s := w.ServeDHCP(t)
	w.Network(t, "lan", "macvlan", byDHCP)
	a := w.Pod(t, "a", "lan")
	a.Sh(t, "ip link set eth0 arp off")
	w.Outside.Sh(t, "ip neigh flush dev eth0")
	was := a.Endpoint.DHCP.Expires
	world.Within(t, 2*world.Patience, "the lease is renewed", func() error {
		e, err := w.Endpoint(a.Endpoint.ID)
		if err == nil && (!e.DHCP.Held || !e.DHCP.Expires.After(was)) {
			err = fmt.Errorf("%+v, heard %v", *e.DHCP, s.Asked())
		}
		return err
	})
	has(t, w, a, "192.0.2.50/24")
	if s.Count(dhcpv4.MessageTypeDiscover) != 1 {
		t.Errorf("the lease was lost meanwhile: %v", s.Asked())
	}
}

// TestClash: a lease in the subnet of the container's other network is not put on. It goes on when the
// other one is detached.
func TestClash(t *testing.T) {
	w := world.New(t)
	s := w.ServeDHCP(t)
	w.Network(t, "lan", "macvlan", byDHCP)
	other := w.Network(t, "other", "bridge", world.OnlyV4)
	a := w.Pod(t, "a", "lan")
	second := a.Join(t, "other", world.As("eth1"))
	s.Set(func() { s.Offers = []netip.Addr{other.Subnets[0].Addr().Next().Next().Next()} })
	has(t, w, a)
	world.Soon(t, "the audit says why", func() error {
		if found, err := w.Audit(); err != nil || len(found) != 1 || !strings.Contains(found[0].Detail, "overlaps "+other.Subnets[0].String()) {
			return fmt.Errorf("audit: %+v, %v", found, err)
		}
		return nil
	})
	a.Reaches(t, other.Gateways[0])
	if _, err := w.Detach(ctx, second.ID); err != nil {
		t.Error(err)
	}
	has(t, w, a, s.Offers[0].String()+"/24")
}

// TestSquatted: somebody on the LAN takes a container's address later. The container's is defended; when that does not help, it is given up,
// declined and replaced. A container beside cannot bring that about: the parent does not hear it.
func TestSquatted(t *testing.T) {
	w := world.New(t)
	s := w.ServeDHCP(t)
	s.Set(func() { s.Lease, s.T1 = time.Hour, 30*time.Minute })
	w.Network(t, "lan", "macvlan", byDHCP)
	a := w.Pod(t, "a", "lan")
	has(t, w, a, "192.0.2.50/24")
	b := w.Pod(t, "b", "lan")
	has(t, w, b, "192.0.2.51/24")
	claim := func(by world.Netns) {
		by.Sh(t, "ip address add 192.0.2.50/32 dev eth0; for i in 1 2 3; do ip neigh flush dev eth0; ping -c 1 -W 1 -I 192.0.2.50 192.0.2.2 >/dev/null || true; done; ip address delete 192.0.2.50/32 dev eth0")
	}
	claim(b.Netns)
	if s.Count(dhcpv4.MessageTypeDecline) != 1 { // of b, when it came
		t.Errorf("a container beside takes the address: %v", s.Asked())
	}
	w.Outside.Sh(t, "ip address add 192.0.2.50/32 dev eth0; for i in 1 2 3; do ip neigh flush dev eth0; ping -c 1 -W 1 -I 192.0.2.50 192.0.2.1 >/dev/null || true; done")
	has(t, w, a, "192.0.2.52/24")
	if s.Count(dhcpv4.MessageTypeDecline) != 2 || !strings.Contains(w.Logged(), "is in use by") {
		t.Errorf("heard %v", s.Asked())
	}
	w.Outside.Sh(t, "ip address delete 192.0.2.50/32 dev eth0")
	a.Reaches(t, world.Outside4, world.Beyond4)
	w.AuditEmpty(t)
}
