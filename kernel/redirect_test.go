package kernel

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bpf"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// redirectScript makes the interfaces for redirects.
const redirectScript = `ip link add up0 type veth peer name far0
ip link add into0 type veth peer name into1
ip link add else0 type veth peer name else1
for l in up0 far0 into0 into1 else0 else1; do ip link set $l up; done
`

func redirects(to, by string) heddle.Plan {
	var s heddle.State
	for _, text := range []string{"10.96.0.0/12", "172.16.0.10/32", "fd00:96::/112", "fd00:97::/33"} {
		s.Redirects = append(s.Redirects, heddle.Redirect{Link: "up0", To: to, Prefix: netip.MustParsePrefix(text), By: by})
	}
	return heddle.Plan{Host: s}
}

// TestRedirects: redirects are made, found again, corrected if they lead elsewhere or use another
// way, and removed with their qdisc, unless others have filters there.
func TestRedirects(t *testing.T) {
	for _, by := range []string{byProgram, byU32} {
		t.Run(by, func(t *testing.T) {
			r := newRoom(t)
			r.needsU32(by)
			r.sh(redirectScript)
			plan := redirects("into0", by)
			if made := r.apply(plan); len(made) != 4 {
				t.Errorf("made %v", made)
			}
			if made := r.apply(plan); len(made) != 0 {
				t.Errorf("made again: %v", made)
			}
			r.redirected(plan)
			elsewhere := redirects("else0", by)
			diff, err := r.k.Diff(elsewhere, nil)
			cell.Must(t, err)
			if len(diff) != 4 || diff[0].Kind != "differs" {
				t.Errorf("to another device: %v", diff)
			}
			r.apply(elsewhere)
			r.redirected(elsewhere)
			if left := strings.Count(r.sh("tc filter show dev up0 egress"), "heddle redirect"); by == byProgram && left != 4 {
				t.Errorf("%d filters, want 4", left)
			}
			r.sh("tc filter add dev up0 ingress protocol ip prio 9 u32 match ip dst 192.0.2.1/32 classid 1:1")
			cell.Must(t, r.k.Remove(elsewhere, nil, nil))
			if out := r.sh("tc qdisc show dev up0; tc filter show dev up0 egress"); !strings.Contains(out, "clsact") || strings.Contains(out, "104") {
				t.Errorf("beside another's filter: %s", out)
			}
			r.sh("tc filter del dev up0 ingress")
			r.apply(plan)
			_, err = r.k.Prune(func(key string) bool { return !strings.HasPrefix(key, "redirect/") })
			cell.Must(t, err)
			if out := r.sh("tc qdisc show dev up0"); strings.Contains(out, "clsact") {
				t.Errorf("left: %s", out)
			}
		})
	}
}

// redirected fails the test unless exactly the plan's redirects are there.
func (r *room) redirected(plan heddle.Plan) {
	r.t.Helper()
	diff, err := r.k.Diff(plan, nil)
	cell.Must(r.t, err)
	if len(diff) > 0 {
		r.t.Errorf("differences: %v", diff)
	}
	owned, err := r.k.Ours()
	cell.Must(r.t, err)
	for _, x := range owned.State.Redirects {
		if !slices.Contains(plan.Host.Redirects, x) {
			r.t.Errorf("there is %+v", x)
		}
	}
	if len(owned.State.Redirects) != len(plan.Host.Redirects) {
		r.t.Errorf("found %v", owned.State.Redirects)
	}
}

// TestOldRedirects: filters of an earlier version, whose names do not say which MAC address they
// write, are replaced if they are wanted, and otherwise pruned.
func TestOldRedirects(t *testing.T) {
	r := newRoom(t)
	r.sh(redirectScript + "tc qdisc add dev up0 clsact\n")
	plan := redirects("into0", byProgram)
	stale := heddle.Redirect{Link: "up0", Prefix: netip.MustParsePrefix("10.200.0.0/16")}
	for i, p := range []netip.Prefix{plan.Host.Redirects[0].Prefix, stale.Prefix} {
		cell.Must(t, openNetns(t, r.host).Do(func() error { return oldRedirect(p, uint32(1+i)) }))
	}
	diff, err := r.k.Diff(plan, nil)
	cell.Must(t, err)
	if len(diff) != 4 || !slices.ContainsFunc(diff, func(d Difference) bool {
		return d.Kind == "differs" && d.Key == plan.Host.Redirects[0].Key()
	}) {
		t.Errorf("beside an old one: %v", diff)
	}
	r.apply(plan)
	_, err = r.k.Prune(func(key string) bool { return key != stale.Key() })
	cell.Must(t, err)
	r.redirected(plan)
	if out := r.sh("tc filter show dev up0 egress"); strings.Count(out, "heddle redirect") != 4 || strings.Count(out, " at ") != 4 {
		t.Errorf("the filters are\n%s", out)
	}
}

// oldRedirect makes one from up0 to into0.
func oldRedirect(p netip.Prefix, handle uint32) error {
	up, err := netlink.LinkByName("up0")
	if err != nil {
		return err
	}
	into, err := netlink.LinkByName("into0")
	if err != nil {
		return err
	}
	program, err := bpf.Steer(p, into.Attrs().Index, into.Attrs().HardwareAddr)
	if err != nil {
		return err
	}
	defer program.Close()
	return netlink.FilterAdd(&netlink.BpfFilter{Fd: program.FD(), DirectAction: true, Name: fmt.Sprintf("heddle redirect %s to %d", p, into.Attrs().Index),
		FilterAttrs: netlink.FilterAttrs{LinkIndex: up.Attrs().Index, Parent: netlink.HANDLE_MIN_EGRESS, Handle: handle, Protocol: unix.ETH_P_ALL, Priority: heddle.RedirectPriorityProgram}})
}

// TestTaggedPassRedirects: a packet with a VLAN tag belongs to another network, although the tag is
// stored beside the packet until it is sent.
func TestTaggedPassRedirects(t *testing.T) {
	for _, by := range []string{byProgram, byU32} {
		t.Run(by, func(t *testing.T) {
			r := newRoom(t)
			r.needsU32(by)
			if out := r.sh("ip link add try0 type veth peer name try1; ip link add link try0 name try5 type vlan id 5 2>&1 || true; ip link del try0"); out != "" {
				t.Skipf("this kernel has no 8021q: %s", out)
			}
			r.sh(redirectScript + `for l in up0 far0; do ip link add link $l name $l.5 type vlan id 5; ip link set $l.5 up; done
mac=$(cat /sys/class/net/far0/address)
ip address add 192.0.2.1/24 dev up0.5; ip address add 2001:db8::1/64 dev up0.5 nodad
ip route add 10.96.0.0/12 via 192.0.2.2; ip -6 route add fd00:96::/112 via 2001:db8::2
for a in 192.0.2.2 2001:db8::2; do ip neighbour replace $a lladdr $mac dev up0.5; done
nft add table inet seen; nft add chain inet seen in '{ type filter hook prerouting priority -300; }'
for to in 'ip daddr 10.96.0.1' 'ip6 daddr fd00:96::1'; do nft add rule inet seen in iifname far0.5 $to counter; done
`)
			r.apply(redirects("into0", by))
			// nobody answers
			out := r.sh("for a in 10.96.0.1 fd00:96::1; do ping -c1 -W1 $a >/dev/null || true; done; nft list chain inet seen in")
			if strings.Count(out, "packets 1 ") != 2 {
				t.Errorf("by %s, the tagged packets do not arrive:\n%s", by, out)
			}
		})
	}
}

// needsU32 skips the test if by is u32 and the kernel cannot redirect by it.
func (r *room) needsU32(by string) {
	r.t.Helper()
	out := r.sh("ip link add try0 type veth peer name try1; tc qdisc add dev try0 clsact; tc filter add dev try0 egress protocol ip prio 9 u32 match ip dst 192.0.2.1/32 action skbedit ptype host 2>&1 || true; ip link del try0")
	if by == byU32 && out != "" {
		r.t.Skipf("this kernel has no act_skbedit: %s", out)
	}
}
