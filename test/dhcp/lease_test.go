package dhcp_test

import (
	"context"
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
	"github.com/heddle-network/heddle/test/world"
)

// has waits until a container has exactly these IPv4 addresses, by its endpoint and by its kernel.
func has(t *testing.T, w *world.World, p *world.Pod, want ...string) {
	t.Helper()
	world.Within(t, 2*world.Patience, fmt.Sprintf("%s has %v", p.Name, want), func() error {
		e, err := w.Endpoint(p.Endpoint.ID)
		if err != nil {
			return err
		}
		var is []string
		for _, line := range strings.Split(p.Sh(t, "ip -4 -o address show dev eth0"), "\n") {
			if f := strings.Fields(line); len(f) > 3 {
				is = append(is, f[3])
			}
		}
		if !slices.Equal(is, want) || strings.Trim(fmt.Sprint(e.Addrs), "[]") != strings.Join(want, " ") {
			return fmt.Errorf("the kernel has %v, the endpoint %v, lease %+v", is, e.Addrs, *e.DHCP)
		}
		return nil
	})
}

// renewed waits until the endpoint's lease lasts longer than now, with the same address.
func renewed(t *testing.T, w *world.World, p *world.Pod) {
	t.Helper()
	was, err := w.Endpoint(p.Endpoint.ID)
	cell.Must(t, err)
	renewedSince(t, w, p, was)
}

// renewedSince waits until the endpoint's lease lasts longer than it did, with the same address.
func renewedSince(t *testing.T, w *world.World, p *world.Pod, was heddle.Endpoint) (is heddle.Endpoint) {
	t.Helper()
	world.Soon(t, "the lease is renewed", func() (err error) {
		is, err = w.Endpoint(p.Endpoint.ID)
		if err == nil && (!is.DHCP.Held || !is.DHCP.Expires.After(was.DHCP.Expires) || !slices.Equal(is.Addrs, was.Addrs)) {
			err = fmt.Errorf("%+v", is.DHCP)
		}
		return err
	})
	return is
}

// TestExpires: a lease that no server renews ends the address, and an audit says so. When a server
// answers again, the address is back; so it is for an agent that has been started meanwhile.
func TestExpires(t *testing.T) {
	w := world.New(t)
	s := w.ServeDHCP(t)
	w.Network(t, "lan", "macvlan", byDHCP)
	a := w.Pod(t, "a", "lan")
	has(t, w, a, "192.0.2.50/24")
	w.Host.Reaches(t, a.V4())
	s.Set(func() { s.Silent = true })
	began := time.Now()
	has(t, w, a)
	t.Logf("the address went %v after the server fell silent, with a lease of %v", time.Since(began).Round(100*time.Millisecond), s.Lease)
	if s.Count(dhcpv4.MessageTypeRequest) < 2 {
		t.Error("nobody asked for more time")
	}
	told := func() {
		t.Helper()
		found, err := w.Audit()
		if err != nil || len(found) != 1 || found[0].Kind != "lease" || found[0].Owner != a.Endpoint.ID.String() || found[0].Remedy == "" {
			t.Errorf("audit: %+v, %v", found, err)
		}
		if !slices.ContainsFunc(w.Status().Parts, func(p heddle.PartStatus) bool {
			return strings.Contains(p.Detail, "a/eth0: the container has no address")
		}) {
			t.Errorf("status: %+v", w.Status().Parts)
		}
	}
	told()
	w.Restart(t, nil)
	told()
	if out := cell.Sh(t, "ip route show 192.0.2.50"); out != "" {
		t.Errorf("the host still has %s", out)
	}
	s.Set(func() { s.Silent = false })
	has(t, w, a, "192.0.2.50/24")
	a.Reaches(t, world.Outside4, world.Beyond4)
	w.Host.Reaches(t, a.V4())
	w.AuditEmpty(t)
}

// TestExpiresUnseen: an address whose lease ends while no agent runs is taken off by the next one.
func TestExpiresUnseen(t *testing.T) {
	w := world.New(t)
	s := w.ServeDHCP(t)
	w.Network(t, "lan", "macvlan", byDHCP)
	a := w.Pod(t, "a", "lan")
	s.Set(func() { s.Silent = true })
	w.Restart(t, func() { time.Sleep(time.Until(a.Endpoint.DHCP.Expires) + 100*time.Millisecond) })
	has(t, w, a)
}

// TestTakenBack: a server that says no to a renewal and gives another address is followed: the old
// address and its routes are gone, the new ones are there.
func TestTakenBack(t *testing.T) {
	w := world.New(t)
	s := w.ServeDHCP(t)
	w.Network(t, "lan", "macvlan", byDHCP)
	a := w.Pod(t, "a", "lan")
	has(t, w, a, "192.0.2.50/24")
	s.Set(func() { s.TakesBack = true })
	has(t, w, a, "192.0.2.51/24")
	a.Reaches(t, world.Outside4, world.Beyond4, world.Host4)
	w.Host.Reaches(t, netip.MustParseAddr("192.0.2.51"))
	if out := cell.Sh(t, "ip route show 192.0.2.50"); out != "" {
		t.Errorf("the host still has %s", out)
	}
	w.AuditEmpty(t)
}

// TestNobodyAnswers: without a server an attach ends in time, names the LAN, and leaves nothing.
func TestNobodyAnswers(t *testing.T) {
	w := world.New(t)
	w.Network(t, "lan", "macvlan", byDHCP)
	pod := world.NewNetns(t, "a")
	began := time.Now()
	_, err := w.Attach(ctx, w.Request(pod, "lan"))
	took := time.Since(began)
	wantCode(t, err, heddle.NoLease)
	if err == nil || !strings.Contains(err.Error(), "no DHCP server has answered on up0 in 10s") || took < 9*time.Second || took > 10*time.Second+world.Patience {
		t.Errorf("after %v: %v", took, err)
	}
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	began = time.Now()
	_, err = w.Attach(ctx, w.Request(pod, "lan"))
	wantCode(t, err, heddle.Waited)
	if took := time.Since(began); took > world.Patience {
		t.Errorf("called off after %v", took)
	}
	if all := w.Endpoints(); len(all) != 0 {
		t.Errorf("left: %+v", all)
	}
	if out := pod.Sh(t, "ip -o link show") + cell.Sh(t, "ip -o link show type macvlan"); strings.Contains(out, "eth0") {
		t.Errorf("left: %s", out)
	}
	w.ServeDHCP(t)
	w.PodIn(t, pod, "lan").Reaches(t, world.Outside4)
}

// TestRefusedByDHCP: what cannot go together with a DHCP server's addresses is refused, and nothing is
// asked of the LAN.
func TestRefusedByDHCP(t *testing.T) {
	w := world.New(t)
	s := w.ServeDHCP(t)
	for name, c := range map[string]struct {
		mode   string
		change world.NetworkOption
	}{
		"unknown source": {"macvlan", func(n *heddle.Network) { n.Subnets = nil; world.With("addresses=radius")(n) }},
		"subnet":         {"macvlan", func(n *heddle.Network) { byDHCP(n); n.Subnets = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} }},
		"passthru":       {"macvlan", func(n *heddle.Network) { byDHCP(n); world.With("macvlan_mode=passthru")(n) }},
		"bridge":         {"bridge", func(n *heddle.Network) { world.With("addresses=dhcp")(n) }},
		"ipvlan in l3":   {"ipvlan", func(n *heddle.Network) { byDHCP(n); world.With("ipvlan_mode=l3")(n) }},
		"plugged NICs":   {"direct", func(n *heddle.Network) { byDHCP(n); n.Parent = ""; world.With("plug=lan")(n) }},
		"routed":         {"routed", func(n *heddle.Network) { world.With("addresses=dhcp")(n) }},
	} {
		_, _, err := w.CreateNetwork(w.Plan("lan", c.mode, c.change), false)
		if t.Log(name, err); !errors.Is(err, heddle.BadOption.Sentinel()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.Network(t, "lan", "macvlan", byDHCP)
	ns := world.NewNetns(t, "a")
	for name, option := range map[string]world.PodOption{
		"address":  world.IP("192.0.2.77"),
		"port":     world.Publish("8080:80/tcp"),
		"handover": func(r *heddle.AttachRequest) { r.Handover = true },
		"dry run":  func(r *heddle.AttachRequest) { r.DryRun = true },
	} {
		_, err := w.Attach(ctx, w.Request(ns, "lan", option))
		if t.Log(name, err); !errors.Is(err, heddle.BadOption.Sentinel()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(s.Asked()) > 0 || len(w.Endpoints()) > 0 {
		t.Errorf("the LAN was asked %v, endpoints %v", s.Asked(), w.Endpoints())
	}
}
