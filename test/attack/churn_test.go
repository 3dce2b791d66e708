package attack_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// churnAttacks shake the container's own link and the agent's attention.
func churnAttacks() []doorAttack {
	return []doorAttack{
		{class: "flush", name: "firewall flushed", try: func(t *testing.T, h *hall) bool {
			cell.Sh(t, "nft flush ruleset")
			return !within(world.RepairTime+world.Patience, h.guardThere)
		}, control: func(t *testing.T, h *hall) bool {
			family := guards[h.mode].family
			handle := "nft -a list table " + family + " heddle | head -n1" // as nft numbers it
			old := cell.Sh(t, "%s", handle)
			cell.Sh(t, "nft delete table %s heddle", family)
			// mended, for those to come, by another table
			return within(world.RepairTime+world.Patience, h.guardThere) && cell.Sh(t, "%s", handle) != old
		}},
		{class: "own-end", name: "eth0 deleted again and again", try: func(t *testing.T, h *hall) bool {
			return h.mishandled(t, "for i in 1 2 3 4 5; do ip link del eth0 2>/dev/null || true; sleep 0.1; done")
		}},
		{class: "own-end", name: "eth0 moved to a namespace of its own", try: func(t *testing.T, h *hall) bool {
			cell.Netns(t, "hideout")
			return h.mishandled(t, "ip link set eth0 netns /run/netns/hideout")
		}},
		{class: "own-end", name: "eth0 renamed, and another with its alias", try: func(t *testing.T, h *hall) bool {
			return h.mishandled(t, `alias=$(ip -o link show eth0 | sed -n 's/.*alias \(.*\)/\1/p')
				ip link set eth0 down; ip link set eth0 name hidden; ip link add eth0 type veth peer name eth1; ip link set eth0 alias "$alias"`)
		}},
		{class: "own-end", name: "links named like the host's", try: func(t *testing.T, h *hall) bool {
			return h.mishandled(t, fmt.Sprintf(`ip link add %s type veth peer name hb0123456789; ip link set %[1]s alias 'heddle endpoint=one/eth0'
				ip link add '$(reboot)' type veth peer name "a;b"; ip link set '$(reboot)' alias "$(printf 'x\ny')"`, h.one.ID.PortName()))
		}},
		{class: "own-end", name: "settings of the host by its own /proc/sys", try: func(t *testing.T, h *hall) bool {
			before := hostSettings(t)
			h.mishandled(t, `for f in ip_forward conf/all/rp_filter conf/all/route_localnet conf/all/accept_source_route conf/all/arp_ignore; do
				echo 2 > /proc/sys/net/ipv4/$f || true; done; echo 0 > /proc/sys/net/ipv6/conf/all/forwarding`)
			return hostSettings(t) != before
		}, control: func(t *testing.T, _ *hall) bool {
			before := hostSettings(t)
			cell.Sh(t, "sysctl -qw net.ipv4.conf.all.arp_ignore=2")
			defer cell.Sh(t, "sysctl -qw net.ipv4.conf.all.arp_ignore=0")
			return hostSettings(t) != before
		}},
		{class: "reuse", name: "address of one who has just left", try: func(t *testing.T, h *hall) bool { return h.inherits(t, false) },
			control: func(t *testing.T, h *hall) bool { return h.inherits(t, true) }},
		{class: "churn", name: "300 changes of a container's link", try: func(t *testing.T, h *hall) bool {
			return h.distracted(t, func() {
				h.mishandled(t, "for i in $(seq 150); do ip link set eth0 down; ip link set eth0 up; done")
			})
		}},
		{class: "churn", name: "300 links of others on the host", try: func(t *testing.T, h *hall) bool {
			return h.distracted(t, func() {
				cell.Sh(t, "for i in $(seq 150); do ip link add hx0 type veth peer name hx1; ip link del hx0; done")
			})
		}},
	}
}

// guards are a chain and a set of the guard in each mode that has one.
var guards = map[string]struct{ family, chain, set string }{
	"bridge": {"bridge", "guard", "macs"}, "routed": {"inet", "guard-port", "sends4"}, "overlay": {"inet", "guard-port", "sends4"},
	isMacvlan: {"inet", "guard-error", "quoted4"},
}

// guardThere reports whether the mode's guard has its rules and elements, those of the
// neighbours.
func (h *hall) guardThere() bool {
	g := guards[h.mode]
	out, err := cell.TrySh("nft list chain %s heddle %s; nft list set %[1]s heddle %[3]s", g.family, g.chain, g.set)
	own := string(h.one.MAC)
	if h.mode == isMacvlan { // whose elements are numbers
		own = fmt.Sprintf("%#x", binary.BigEndian.Uint32(h.one.Addrs[0].Addr().AsSlice()))
	}
	return err == nil && strings.Contains(out, "@"+g.set) && strings.Contains(out, own)
}

// mishandled attaches a container that does something to its own namespace. It
// succeeds if the container cannot be detached afterwards, or leaves something.
func (h *hall) mishandled(t *testing.T, script string) bool {
	t.Helper()
	h.attach(t, "wild")
	out, err := cell.TrySh("ip netns exec wild sh -ec '%s'", strings.ReplaceAll(script, "'", `'\''`))
	if err != nil {
		t.Errorf("the attacker's own commands: %v: %s", err, out)
	}
	if _, err := h.GC(ctx, "", nil); err != nil {
		t.Logf("gc: %v", err)
		return true
	}
	_, err = h.Detach(ctx, idOf("wild"))
	cell.TrySh("ip netns del wild")
	if err != nil {
		t.Logf("detach: %v", err)
		return true
	}
	return !within(2*world.Patience, func() bool {
		found, err := h.Audit(ctx)
		return err == nil && len(found) == 0
	})
}

// inherits reports whether a container gets the address of one that has just
// left, by chance or because it asks for it.
func (h *hall) inherits(t *testing.T, asks bool) bool {
	t.Helper()
	leaver := fmt.Sprintf("leaver-%t", asks)
	old := h.attach(t, leaver).Addrs[0].Addr()
	h.detach(t, leaver)
	for i := range 8 {
		pod := fmt.Sprintf("heir%d-%t", i, asks)
		req := heddle.AttachRequest{Network: h.mode, ID: idOf(pod), Netns: cell.Netns(t, pod)}
		if asks {
			req.IPs = []netip.Addr{old}
		}
		r, err := h.Attach(ctx, req)
		cell.Must(t, err)
		defer h.detach(t, pod)
		if r.Endpoint.Addrs[0].Addr() == old {
			return true
		}
	}
	return false
}

// distracted attaches and detaches while something else happens; it succeeds if
// the agent cannot attend to that.
func (h *hall) distracted(t *testing.T, by func()) bool {
	t.Helper()
	end, done := make(chan struct{}), make(chan error, 1)
	cell.Netns(t, "patient")
	go func() {
		var errs []error
		for {
			select {
			case <-end:
				done <- errors.Join(errs...)
				return
			default:
			}
			limited, cancel := context.WithTimeout(ctx, 6*world.Patience)
			err := h.ask(idOf("patient"), "/run/netns/patient")
			_, gone := h.Detach(limited, idOf("patient"))
			cancel()
			errs = append(errs, err, gone)
			time.Sleep(20 * time.Millisecond)
		}
	}()
	by()
	close(end)
	if err := <-done; err != nil {
		t.Log(err)
		return true
	}
	return false
}

// hostSettings are those of the host that the attack would like to change.
func hostSettings(t *testing.T) string {
	return cell.Sh(t, "sysctl net.ipv4.ip_forward net.ipv4.conf.all.rp_filter net.ipv4.conf.all.route_localnet net.ipv4.conf.all.accept_source_route net.ipv4.conf.all.arp_ignore net.ipv6.conf.all.forwarding")
}
