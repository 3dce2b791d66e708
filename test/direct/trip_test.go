package direct_test

import (
	"fmt"
	"os/exec"
	"syscall"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestRoundTrip gives a container a NIC with everything that a NIC can have,
// uses it there, and takes it back.
func TestRoundTrip(t *testing.T) {
	w := world.New(t)
	lan := newNIC(t, "nic1", 1)
	before := dump(t, "nic1")
	network(t, w, "lan", nil, "nic1")
	ns, inner := world.NewNetns(t, "c1"), world.NewNetns(t, "inner")
	for _, byLink := range []bool{true, false} { // the second time all begins anew
		pod := w.PodIn(t, ns, "lan")
		if e := pod.Endpoint; e.MTU != 1450 || e.MAC != "02:00:00:00:01:01" || e.NIC == nil || !e.DefaultRoute {
			t.Errorf("endpoint %+v", e)
		}
		if out, err := cell.TrySh("ip link show nic1"); err == nil {
			t.Errorf("the host still has it: %s", out)
		}
		ns.Reaches(t, addr("10.51.0.1"), addr("fd51::1"), addr("203.0.113.51"))
		lan.Reaches(t, addr("10.51.0.2"), addr("10.51.0.4"), addr("fd51::2"), addr("fd51::3"))
		ns.Sh(t, "ip route show table 51 | grep 'default via 10.51.0.1 dev eth0'; ip route | grep 'default via 10.51.0.1'; ip -6 route | grep 'default via fd51::1'")
		w.AuditEmpty(t)
		if found, err := w.Check(pod.Endpoint.ID); err != nil || len(found) > 0 {
			t.Errorf("check: %v %v", found, err)
		}
		// the container's administrator leaves his traces
		ns.Sh(t, `ip link set eth0 promisc off allmulticast on mtu 1400 txqueuelen 5 arp off
			ip address add 172.31.0.1/16 dev eth0; ip route add 172.30.0.0/16 dev eth0
			sysctl -qw net/ipv4/conf/eth0/rp_filter=0; ip link add link eth0 name eth0.7 type macvlan
			ip link set eth0 mode dormant multicast off gso_max_size 30000 gso_max_segs 7 gro_max_size 30000
			ip link property del dev eth0 altname third1; ip link property add dev eth0 altname up0 altname mine0
			tc qdisc add dev eth0 clsact; tc filter add dev eth0 ingress protocol all u32 match u32 0 0 flowid 1:1
			ip link add link eth0 name eth0.8 type macvlan; ip link set eth0.8 netns inner; ip -n inner link set eth0.8 up
			ip link set eth0 down; ip link set eth0 address 02:00:00:00:09:09 alias mine name eth9`)
		letGo := attachXDP(t, ns, "eth9", byLink)
		pod.Leave(t)
		same(t, "after the detach", before, func() string { return dump(t, "nic1") })
		letGo()
		if out := inner.Sh(t, "ip -o link show type macvlan"); out != "" {
			t.Errorf("it stands on the NIC still: %s", out)
		}
		if life := lifetime(t, "nic1", "10.71.0.1"); life < 8000 || life > 9000 {
			t.Errorf("the address of 9000 s has %d s left", life)
		}
	}
}

// attachXDP attaches a generic program that lets all pass: by a BPF link, which netlink
// does not take off and which lives as long as it is held, or by netlink. Another link of
// that program, on the loopback, is older.
func attachXDP(t *testing.T, ns world.Netns, name string, byLink bool) (letGo func()) {
	t.Helper()
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "Apache-2.0",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 2), asm.Return()}}) // XDP_PASS
	cell.Must(t, err)
	defer program.Close()
	letGo = func() {}
	cell.Must(t, ns.Do(func() error {
		nic, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		if !byLink {
			return netlink.LinkSetXdpFdWithFlags(nic, program.FD(), nl.XDP_FLAGS_SKB_MODE)
		}
		loopback, err := link.AttachXDP(link.XDPOptions{Program: program, Interface: 1, Flags: link.XDPGenericMode})
		if err != nil {
			return err
		}
		held, err := link.AttachXDP(link.XDPOptions{Program: program, Interface: nic.Attrs().Index, Flags: link.XDPGenericMode})
		letGo = func() { loopback.Close(); held.Close() }
		return err
	}))
	return letGo
}

// TestAddressed uses a NIC with an address of the network.
func TestAddressed(t *testing.T) {
	w := world.New(t)
	newNIC(t, "nic1", 1)
	before := dump(t, "nic1")
	n := network(t, w, "lan", func(n *heddle.Network) { n.Subnets = prefixes("10.51.0.0/24", "fd51::/64") }, "nic1")
	if len(n.Gateways) != 2 || n.Gateways[0] != addr("10.51.0.1") || n.Gateways[1] != addr("fd51::1") {
		t.Errorf("gateways %v, want those of the NIC's default routes", n.Gateways)
	}
	ns := world.NewNetns(t, "c1")
	pod := w.PodIn(t, ns, "lan")
	for _, a := range pod.Addrs() {
		if a == addr("10.51.0.2") || a == addr("fd51::2") {
			t.Errorf("%s is an address of the NIC on the host", a)
		}
	}
	ns.Reaches(t, addr("10.51.0.1"), addr("fd51::1"), addr("203.0.113.51"))
	// created again while its NIC is away, the network is the same
	again := heddle.Network{Name: "lan", Mode: "direct", Options: n.Options, Subnets: n.Subnets}
	if old, _, err := w.CreateNetwork(again, false); err != nil || old.ID != n.ID {
		t.Errorf("created again: %v %v", old, err)
	}
	pod.Leave(t)
	same(t, "after the detach", before, func() string { return dump(t, "nic1") })
}

// TestDeath lets the container die in each way that containers do.
func TestDeath(t *testing.T) {
	for _, way := range []string{"its process is killed", "its namespace is deleted"} {
		for _, agent := range []string{"alive", "dead"} {
			t.Run(way+", agent "+agent, func(t *testing.T) {
				w := world.New(t)
				newNIC(t, "nic1", 1)
				before := dump(t, "nic1")
				network(t, w, "lan", nil, "nic1")
				req := heddle.AttachRequest{Network: "lan", ID: heddle.EndpointID{Container: "c1", IfName: "eth0"}}
				var kill func()
				if way == "its process is killed" {
					cmd := exec.Command("sleep", "600")
					cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
					cell.Must(t, cmd.Start())
					kill = func() { cmd.Process.Kill(); cmd.Wait() }
					t.Cleanup(kill)
					req.Netns = fmt.Sprintf("/proc/%d/ns/net", cmd.Process.Pid)
				} else {
					req.Netns = cell.Netns(t, "dying")
					kill = func() { cell.Sh(t, "ip netns del dying") }
				}
				_, err := w.Attach(ctx, req)
				cell.Must(t, err)
				if agent == "dead" {
					w.Restart(t, kill)
				} else {
					kill()
				}
				back(t, w)
				same(t, "after the container's death", before, func() string { return dump(t, "nic1") })
				w.AuditEmpty(t)
			})
		}
	}
}

// back waits until the agent has brought all NICs back by itself.
func back(t *testing.T, w *world.World) {
	t.Helper()
	world.Within(t, slowly, "the NIC's return", func() error {
		if all := w.Endpoints(); len(all) > 0 {
			return fmt.Errorf("still there: %v", all[0].ID)
		}
		return nil
	})
}
