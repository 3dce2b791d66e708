package dhcp_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestEngine: an engine that moves the link itself is told first which address the LAN's server leases, and
// gives it to the container. The agent keeps the lease, over its own end, and gives it back.
func TestEngine(t *testing.T) {
	w := world.New(t)
	server := startDnsmasq(t, w.Outside, "--dhcp-option=option:T1,3", "--dhcp-option=option:T2,60")
	w.Network(t, "lan", "macvlan", byDHCP)
	a := w.Engine(t, "a", "lan")
	a.Reaches(t, world.Outside4, world.Beyond4, world.Host4)
	w.Host.Reaches(t, a.V4())
	cell.Must(t, w.Noticed(a.Endpoint.ID, "eth0"))
	renewed(t, w, a)
	w.Restart(t, nil)
	renewed(t, w, a)
	a.Reaches(t, world.Outside4, world.Beyond4)
	w.AuditEmpty(t)
	a.Forget(t)
	server.getsBack(t, a.V4())
}

// TestEngineFollows: a lease that ends takes the address off a container that an engine has addressed, too; another one is
// given to it, with the routes that went with the first, though the engine goes on naming that.
func TestEngineFollows(t *testing.T) {
	w := world.New(t)
	s := w.ServeDHCP(t)
	w.Network(t, "lan", "macvlan", byDHCP)
	a := w.Engine(t, "a", "lan")
	cell.Must(t, w.Noticed(a.Endpoint.ID, "eth0"))
	s.Set(func() { s.TakesBack = true })
	has(t, w, a, "192.0.2.51/24")
	a.Reaches(t, world.Outside4, world.Beyond4, world.Host4)
	w.Host.Reaches(t, netip.MustParseAddr("192.0.2.51"))
	w.AuditEmpty(t)
	s.Set(func() { s.Silent = true })
	has(t, w, a)
	w.Restart(t, nil)
	s.Set(func() { s.Silent = false })
	has(t, w, a, "192.0.2.51/24")
	a.Reaches(t, world.Outside4, world.Beyond4)
	w.AuditEmpty(t)
}

// TestEngineLate: a lease that changes before the engine has taken the link counts a second after it has, when the engine has made its routes;
// what the engine was told goes then.
func TestEngineLate(t *testing.T) {
	w := world.New(t)
	s := w.ServeDHCP(t)
	w.Network(t, "lan", "macvlan", byDHCP)
	ns := world.NewNetns(t, "a")
	reply := w.HandOver(t, ns, "lan")
	s.Set(func() { s.TakesBack = true })
	world.Soon(t, "the lease is another", func() error {
		e, err := w.Endpoint(reply.Endpoint.ID)
		if err == nil && (!e.DHCP.Held || e.DHCP.Address == reply.Endpoint.Addrs[0]) {
			err = fmt.Errorf("%+v", e.DHCP)
		}
		return err
	})
	var taken, off time.Time
	w.TripAt(func(step string) error {
		switch step {
		case "ledger taken":
			taken = time.Now()
		case "take address off":
			off = time.Now()
		}
		return nil
	})
	a := &world.Pod{Netns: ns, Endpoint: reply.Endpoint}
	a.Take(t, reply, "eth0")
	has(t, w, a, "192.0.2.51/24")
	w.TripAt(nil)
	if taken.IsZero() || off.Sub(taken) < time.Second {
		t.Errorf("what the engine was told is gone %v after it was taken", off.Sub(taken))
	}
	a.Reaches(t, world.Outside4, world.Beyond4)
	w.AuditEmpty(t)
	cell.Must(t, w.LeaveNow(ctx, reply.Endpoint.ID))
}

// TestEngineElsewhere: the default route that an engine has made through another network stays the container's.
func TestEngineElsewhere(t *testing.T) {
	w := world.New(t)
	s := w.ServeDHCP(t)
	w.Network(t, "lan", "macvlan", byDHCP)
	a := w.Engine(t, "a", "lan")
	cell.Must(t, w.Noticed(a.Endpoint.ID, "eth0"))
	a.Sh(t, "ip link add other type bridge; ip address add 198.51.100.1/24 dev other; ip link set other up; ip route replace default via 198.51.100.2 dev other")
	s.Set(func() { s.TakesBack = true })
	has(t, w, a, "192.0.2.51/24")
	if out := a.Sh(t, "ip route get 203.0.113.9"); !strings.Contains(out, "via 198.51.100.2 dev other") {
		t.Errorf("the way out is %s", out)
	}
	w.AuditEmpty(t)
}

// TestLeasedAhead: what an engine was told is what the container gets, or it gets nothing; what no container takes is given back.
func TestLeasedAhead(t *testing.T) {
	w := world.New(t)
	s := w.ServeDHCP(t)
	w.Network(t, "lan", "macvlan", byDHCP)
	req := w.Request(world.NewNetns(t, "a"), "lan", func(r *heddle.AttachRequest) { r.Handover = true })
	ahead := func() netip.Addr {
		t.Helper()
		e, err := w.LeaseAhead(ctx, req)
		cell.Must(t, err)
		return e.Addrs[0].Addr()
	}
	if first := ahead(); first != ahead() || s.Count(dhcpv4.MessageTypeDiscover) != 1 {
		t.Errorf("asked again, the server heard %v", s.Asked())
	}
	cell.Must(t, w.LeaveNow(ctx, req.ID))
	world.Soon(t, "the lease is given back", func() error { // nobody answers that, so nobody has waited for it
		if s.Count(dhcpv4.MessageTypeRelease) != 1 {
			return fmt.Errorf("the server heard %v", s.Asked())
		}
		return nil
	})
	req.IPs = []netip.Addr{ahead()}
	w.Restart(t, nil) // which does not know of it
	reply, err := w.Attach(ctx, req)
	cell.Must(t, err)
	if reply.Endpoint.Addrs[0].Addr() != req.IPs[0] {
		t.Errorf("told %v, and has %v", req.IPs, reply.Endpoint.Addrs)
	}
	cell.Must(t, w.LeaveNow(ctx, req.ID))
	req.IPs = []netip.Addr{ahead()}
	w.Restart(t, nil)
	s.Set(func() { s.Offers = slices.Delete(s.Offers, 0, 1) })
	_, err = w.Attach(ctx, req)
	wantCode(t, err, heddle.NoLease)
	if len(w.Endpoints()) > 0 || err == nil || !strings.Contains(err.Error(), "engine was told 192.0.2.50") {
		t.Errorf("endpoints %v, error %v", w.Endpoints(), err)
	}
	w.AuditEmpty(t)
}
