package dhcp_test

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

var macs = regexp.MustCompile(`(?:[0-9a-f]{2}:){5}[0-9a-f]{2}`)

// TestPlugged: a NIC is plugged in for a container, and a real server of the LAN behind it says which address it has. The agent keeps the
// lease, by the MAC address that the provider gave, whichever the container has now, and over its own end; and gives it back
// before the NIC is taken out.
func TestPlugged(t *testing.T) {
	p := newPlugger(t)
	p.closed = []netip.Prefix{netip.MustParsePrefix("100.100.100.200/32")}
	w := p.world(t)
	server := startDnsmasq(t, p.lan, "--dhcp-option=option:T1,3", "--dhcp-option=option:T2,60")
	w.Network(t, "lan", "direct", onOffice)
	a := w.Pod(t, "a", "lan")
	e := a.Endpoint
	if e.NIC == nil || e.NIC.Plugged == nil || e.DHCP == nil || !e.DHCP.Held || !e.DefaultRoute || len(e.Addrs) != 1 || e.DHCP.Server != world.Outside4 {
		t.Fatalf("endpoint %+v, lease %+v", e, e.DHCP)
	}
	a.Reaches(t, world.Outside4, world.Beyond4)
	if out := a.Sh(t, "ip route show table all"); !strings.Contains(out, "unreachable 100.100.100.200") {
		t.Errorf("what the provider closes is open:\n%s", out)
	}
	w.AuditEmpty(t)
	a.Sh(t, "ip link set eth0 address 02:00:00:00:0a:99")
	renewed(t, w, a)
	if all := macs.FindAllString(server.log(), -1); len(all) == 0 || slices.ContainsFunc(all, func(mac string) bool { return mac != string(e.MAC) }) {
		t.Errorf("the server was asked by %v, and the NIC is %s", all, e.MAC)
	}
	a.Sh(t, "ip link set eth0 address %s", e.MAC)
	w.Restart(t, func() { a.Reaches(t, world.Beyond4) })
	renewed(t, w, a)
	w.AuditEmpty(t)
	addr := a.V4()
	a.Leave(t)
	server.getsBack(t, addr)
	p.unplugged(t)
	w.AuditEmpty(t)
}

// TestPluggedFollows: a container follows its lease on a NIC that was plugged in: a lease that nobody renews takes the address off. A NIC that
// the provider took out and that is put back is ordered by no address, and has its lease again; so it has if that ran out meanwhile. When the
// container dies, all is given back.
func TestPluggedFollows(t *testing.T) {
	p := newPlugger(t)
	w := p.world(t)
	s := p.lan.ServeDHCP(t, "eth0")
	w.Network(t, "lan", "direct", onOffice)
	a := w.Pod(t, "a", "lan")
	has(t, w, a, "192.0.2.50/24")
	s.Set(func() { s.Silent = true })
	has(t, w, a)
	s.Set(func() { s.Silent = false })
	has(t, w, a, "192.0.2.50/24")
	if ordered := p.ejectAll(t, "a"); len(ordered) > 0 {
		t.Errorf("ordered with %v", ordered)
	}
	has(t, w, a, "192.0.2.50/24")
	a.Reaches(t, world.Outside4, world.Beyond4)
	renewed(t, w, a)
	w.AuditEmpty(t)
	p.set(func() { p.away = true })
	p.ejectOnce()
	p.changed <- true
	world.Within(t, 2*world.Patience, "the lease runs out without a NIC", func() error {
		if e, err := w.Endpoint(a.Endpoint.ID); err != nil || len(e.Addrs) > 0 {
			return fmt.Errorf("%+v, lease %+v, %v", e, e.DHCP, err)
		}
		return nil
	})
	p.set(func() { p.away = false })
	p.changed <- true
	world.Within(t, 3*world.Patience, "the NIC is there again", func() error {
		_, err := cell.TrySh("ip -n a link show eth0")
		return err
	})
	has(t, w, a, "192.0.2.50/24")
	a.Reaches(t, world.Outside4, world.Beyond4)
	w.AuditEmpty(t)
	a.Netns.Delete()
	p.unplugged(t)
	if s.Count(dhcpv4.MessageTypeRelease) != 1 {
		t.Errorf("not given back: %v", s.Asked())
	}
}

// TestPluggedOnly: where the port behind a NIC lets one address pass, the lease has to be of that. A server that leases another is not told that
// somebody has it, and neither NIC nor lease is left.
func TestPluggedOnly(t *testing.T) {
	p := newPlugger(t)
	p.passes = []netip.Prefix{netip.MustParsePrefix("192.0.2.57/24")}
	w := p.world(t)
	server := startDnsmasq(t, p.lan)
	w.Network(t, "lan", "direct", onOffice)
	a := w.Pod(t, "a", "lan")
	has(t, w, a, "192.0.2.57/24")
	a.Reaches(t, world.Beyond4)
	w.Restart(t, nil)
	was := renewedSince(t, w, a, a.Endpoint)
	for range 2 { // what the port lets pass is known as before
		if ordered := p.ejectAll(t, "a"); !slices.Equal(ordered, []netip.Addr{a.V4()}) {
			t.Errorf("ordered with %v", ordered)
		}
		was = renewedSince(t, w, a, was) // long before that is due
	}
	has(t, w, a, "192.0.2.57/24")
	a.Leave(t)
	server.getsBack(t, netip.MustParseAddr("192.0.2.57"))
	p.set(func() { p.passes = []netip.Prefix{netip.MustParsePrefix("192.0.2.99/24")} })
	b := world.NewNetns(t, "b")
	_, err := w.Attach(ctx, w.Request(b, "lan"))
	wantCode(t, err, heddle.NoLease)
	for _, said := range []string{"on network office of the NIC's provider", "lets no address pass but 192.0.2.99", "create the network without --opt addresses"} {
		if err == nil || !strings.Contains(err.Error(), said) {
			t.Errorf("%q is not in error %v", said, err)
		}
	}
	if strings.Contains(server.log(), "DHCPDECLINE") {
		t.Errorf("declined:\n%s", server.log())
	}
	p.unplugged(t)
	w.AuditEmpty(t)
}

// TestPluggedFails: an attach that fails at any step leaves neither lease, NIC nor address. Nor does an agent that is cut off in an attach or a
// detach, once the next one has started.
func TestPluggedFails(t *testing.T) {
	p := newPlugger(t)
	w := p.world(t)
	server := startDnsmasq(t, p.lan)
	w.Network(t, "lan", "direct", onOffice)
	ns := world.NewNetns(t, "a")
	req := w.Request(ns, "lan")
	nothing := func(step string) {
		t.Helper()
		p.unplugged(t)
		world.Soon(t, "no lease is left", func() error {
			if text := cell.Sh(t, "cat %s", server.leases()); text != "" {
				return errors.New(text)
			}
			return nil
		})
		if out := ns.Sh(t, "ip -o link show; ip address show"); strings.Contains(out, "eth0") || strings.Contains(out, "192.0.2.") || len(w.Endpoints()) > 0 {
			t.Errorf("%s: endpoints %v\n%s", step, w.Endpoints(), out)
		}
		w.AuditEmpty(t)
	}
	var steps []string
	for at := 0; !t.Failed(); at++ {
		count, failed := -1, ""
		w.TripAt(func(step string) error {
			if count++; count != at {
				return nil
			}
			failed = step
			return fmt.Errorf("%s fails", step)
		})
		_, err := w.Attach(ctx, req)
		w.TripAt(nil)
		if err == nil {
			if failed == "" {
				break
			}
			_, err = w.Detach(ctx, req.ID) // the step was not needed
			cell.Must(t, err)
		}
		steps = append(steps, failed)
		nothing(failed)
	}
	t.Log(strings.Join(steps, ", "))
	for _, step := range []string{"plug NIC", "await NIC", "lease by DHCP", "ledger lease"} {
		if !slices.Contains(steps, step) {
			t.Errorf("step %s did not fail", step)
		}
	}
	attach := func() error { _, err := w.Attach(ctx, req); return err }
	detach := func() error { _, err := w.Detach(ctx, req.ID); return err }
	cell.Must(t, detach())
	for what, do := range map[string]func() error{"attach": attach, "detach": detach} {
		for at, cut := 1, "?"; cut != "" && !t.Failed(); at++ {
			if what == "detach" {
				cell.Must(t, attach())
			}
			name := w.CutAt(at)
			err := do()
			cut = name()
			w.Restart(t, func() { w.TripAt(nil) })
			if err == nil && what == "attach" || cut == "ledger intent detach" { // it is there
				cell.Must(t, detach())
			}
			nothing(what + ", cut off at " + cut)
			t.Log(what, at, cut)
		}
	}
}

// TestPluggedRefused: what cannot be had with a NIC that is plugged in and an address that is leased on it is refused, before one is plugged in.
func TestPluggedRefused(t *testing.T) {
	p := newPlugger(t)
	w := p.world(t)
	server := startDnsmasq(t, p.lan)
	_, _, err := w.CreateNetwork(w.Plan("bad", "direct", byDHCP, world.With("plug=apart")), false)
	wantCode(t, err, heddle.BadOption)
	if err == nil || !strings.Contains(err.Error(), "leave --opt addresses=dhcp out") {
		t.Errorf("on a network without a DHCP server: %v", err)
	}
	w.Network(t, "lan", "direct", onOffice)
	ns := world.NewNetns(t, "a")
	for remedy, change := range map[string]world.PodOption{
		"leave --ip out, or use a network without --opt addresses": world.IP("192.0.2.77"),
		"leave --dry-run out":                     func(r *heddle.AttachRequest) { r.DryRun = true },
		"leave --move-from out, or use a network": func(r *heddle.AttachRequest) { r.MoveFrom = "vm2" },
		"attach the container itself":             func(r *heddle.AttachRequest) { r.Handover = true },
	} {
		if _, err := w.Attach(ctx, w.Request(ns, "lan", change)); heddle.BadOption.In(err) == nil || !strings.Contains(err.Error(), remedy) {
			t.Errorf("%q is not said: %v", remedy, err)
		}
	}
	if made, _ := p.look(); made > 0 || strings.Contains(server.log(), "DHCPDISCOVER") {
		t.Errorf("a NIC was plugged in, or the server asked\n%s", server.log())
	}
	made, err := w.Attach(ctx, w.Request(ns, "lan"))
	cell.Must(t, err)
	_, err = w.Move(ctx, made.Endpoint.ID, "vm2")
	wantCode(t, err, heddle.BadOption)
	_, _, err = w.MoveCommands(ctx, made.Endpoint.ID, "vm2")
	wantCode(t, err, heddle.BadOption)
	w.AuditEmpty(t)
}
