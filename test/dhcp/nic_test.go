package dhcp_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// newNIC makes a NIC of the host's, nic1, with a LAN of its own at its other end.
func newNIC(t *testing.T) (lan world.Netns) {
	t.Helper()
	lan = world.NewNetns(t, "lan")
	cell.Sh(t, `ip link add nic1 address 02:00:00:00:0a:01 type veth peer name eth0 netns lan
		ip -n lan address add 192.0.2.2/24 dev eth0; ip -n lan link set eth0 up; ip -n lan link set lo up; ip -n lan address add 203.0.113.9/32 dev lo`)
	t.Cleanup(func() { cell.TrySh("ip link delete nic1") })
	return lan
}

func onNIC(n *heddle.Network) {
	byDHCP(n)
	n.Parent = "nic1"
}

// TestNIC: a container with a NIC of the host's has the address that a real server on the NIC's LAN gives, also on a NIC that was down. The
// agent keeps the lease over its own end, and gives it back; the NIC is as it was.
func TestNIC(t *testing.T) {
	for name, before := range map[string]string{"down": "true", "up": "ip address add 198.51.100.7/24 dev nic1; ip link set nic1 up"} {
		t.Run(name, func(t *testing.T) {
			w := world.New(t)
			server := startDnsmasq(t, newNIC(t), "--dhcp-option=option:T1,3", "--dhcp-option=option:T2,60")
			cell.Sh(t, "%s", before)
			w.Network(t, "lan", "direct", onNIC)
			look := func() string {
				return cell.Sh(t, "ip -4 -o address show dev nic1; ip -o link show nic1 | sed s/qdisc.*//")
			}
			was := look()
			a := w.Pod(t, "a", "lan")
			if e := a.Endpoint; e.DHCP == nil || !e.DHCP.Held || e.MAC != "02:00:00:00:0a:01" || !e.DefaultRoute || e.DHCP.Server != world.Outside4 {
				t.Errorf("endpoint %+v, lease %+v", e, e.DHCP)
			}
			a.Reaches(t, world.Outside4, world.Beyond4)
			renewed(t, w, a)
			w.Restart(t, func() { a.Reaches(t, world.Beyond4) })
			renewed(t, w, a)
			w.AuditEmpty(t)
			addr := a.V4()
			a.Leave(t)
			server.getsBack(t, addr)
			if now := look(); now != was {
				t.Errorf("the NIC was\n%sand is\n%s", was, now)
			}
			w.AuditEmpty(t)
		})
	}
}

// TestNICFollows: a container with a NIC follows its lease; one whose container dies gives it back.
func TestNICFollows(t *testing.T) {
	w := world.New(t)
	s := newNIC(t).ServeDHCP(t, "eth0")
	w.Network(t, "lan", "direct", onNIC)
	a := w.Pod(t, "a", "lan")
	has(t, w, a, "192.0.2.50/24")
	s.Set(func() { s.TakesBack = true })
	has(t, w, a, "192.0.2.51/24")
	a.Reaches(t, world.Outside4, world.Beyond4)
	s.Set(func() { s.Silent = true })
	has(t, w, a)
	s.Set(func() { s.Silent = false })
	has(t, w, a, "192.0.2.51/24")
	a.Reaches(t, world.Beyond4)
	w.AuditEmpty(t)
	a.Netns.Delete()
	world.Soon(t, "the NIC is back, and the lease given back", func() error {
		_, err := cell.TrySh("ip link show nic1")
		return err
	})
	if s.Count(dhcpv4.MessageTypeRelease) != 1 {
		t.Errorf("not given back: %v", s.Asked())
	}
}

// TestNICClash: a lease that the container cannot have, since another network of its own has that subnet, is given back on the NIC before
// that goes back.
func TestNICClash(t *testing.T) {
	w := world.New(t)
	s := newNIC(t).ServeDHCP(t, "eth0")
	s.Set(func() { s.Offers = []netip.Addr{netip.MustParseAddr("10.77.0.50")} })
	w.Network(t, "lan", "direct", onNIC)
	w.Network(t, "other", "bridge", func(n *heddle.Network) { n.Subnets = []netip.Prefix{netip.MustParsePrefix("10.77.0.0/24")} })
	a := w.Pod(t, "a", "other")
	_, err := w.Attach(ctx, w.Request(a.Netns, "lan", func(r *heddle.AttachRequest) { r.ID.IfName = "eth1" }))
	wantCode(t, err, heddle.RoutesClash)
	world.Soon(t, "the lease is given back", func() error {
		if s.Count(dhcpv4.MessageTypeRelease) != 1 {
			return fmt.Errorf("the server was asked %v", s.Asked())
		}
		return nil
	})
	w.AuditEmpty(t)
}

// TestNICWithoutServer: where no server answers the NIC is back as it was, and nothing is left; so it is where the attach is refused.
func TestNICWithoutServer(t *testing.T) {
	w := world.New(t)
	newNIC(t)
	w.Network(t, "lan", "direct", onNIC)
	ns := world.NewNetns(t, "a")
	_, err := w.Attach(ctx, w.Request(ns, "lan"))
	wantCode(t, err, heddle.NoLease)
	if err == nil || !strings.Contains(err.Error(), "no DHCP server has answered on nic1 in 10s") || len(w.Endpoints()) > 0 {
		t.Errorf("endpoints %v, error %v", w.Endpoints(), err)
	}
	cell.Sh(t, "ip link show nic1 | grep -q 'state DOWN'")
	w.AuditEmpty(t)
	_, err = w.LeaseAhead(ctx, w.Request(ns, "lan", func(r *heddle.AttachRequest) { r.Handover = true }))
	wantCode(t, err, heddle.BadOption)
	_, err = w.Attach(ctx, w.Request(ns, "lan", world.IP("192.0.2.77")))
	wantCode(t, err, heddle.BadOption)
}

// TestNICKilled: an agent that is killed when the container has its address, and the attach is not done, leaves no lease: the next one gives it
// back on the NIC, before that goes back.
func TestNICKilled(t *testing.T) {
	soak.Turn(t, 1)
	world.New(t)
	server := startDnsmasq(t, newNIC(t))
	pod, dir := world.NewNetns(t, "killed"), t.TempDir()
	armed, had := filepath.Join(dir, "armed"), 0
	req := heddle.AttachRequest{Network: "lan", ID: heddle.EndpointID{Container: "killed", IfName: "eth0"}, Netns: pod.Path}
	for step := 14; ; step++ { // the NIC is moved by then
		a := cell.Start(t, dir, fmt.Sprintf("HEDDLE_CRASH_AT=%d", step), "HEDDLE_CRASH_AFTER="+armed)
		_, _, err := a.CreateNetwork(ctx, heddle.Network{Name: "lan", Mode: "direct", Parent: "nic1", Options: map[string]string{"addresses": "dhcp"}}, false)
		cell.Must(t, err)
		cell.Must(t, os.WriteFile(armed, nil, 0o600))
		_, err = a.Attach(ctx, req)
		os.Remove(armed)
		if err != nil {
			a.WaitDead(t)
			held := strings.Contains(pod.Sh(t, "ip -4 address show"), "192.0.2.")
			a = cell.Start(t, dir)
			if held {
				had++
				world.Soon(t, "the lease is given back", func() error {
					if text := cell.Sh(t, "cat %s", server.leases()); text != "" {
						return fmt.Errorf("step %d: %s", step, text)
					}
					return nil
				})
			}
		}
		_, failed := a.Detach(ctx, req.ID)
		cell.Must(t, failed)
		cell.Must(t, a.DeleteNetwork(ctx, "lan"))
		a.AuditEmpty(t)
		a.Stop()
		if err == nil {
			t.Logf("fewer than %d steps", step)
			break
		}
	}
	if had == 0 {
		t.Error("no agent was killed when the container had its address")
	}
}
