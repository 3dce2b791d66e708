package machines_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lab/boot"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/vm"
	"github.com/heddle-network/heddle/test/world"
)

const dpdkConfig = `listen: 172.31.240.11:7950
machines:
  vm1: {qmp: /run/qmp/vm1, networks: [lan, other], nics: 3}
`

// A container that runs testpmd: a network namespace, and device files of its own, of VFIO those that it is given.
const dpdkContainer = `set -e
tree=$1 netns=$2 groups=$3; shift 3
new=/run/dev-$netns
mkdir -p $new; mount -t tmpfs dev $new
for f in null zero urandom; do cp -a /dev/$f $new; done
mkdir $new/hugepages $new/vfio
for f in vfio $groups; do cp -a /dev/vfio/$f $new/vfio; done
mount --rbind $new /dev; mount -t hugetlbfs pages /dev/hugepages
libs=$tree/usr/lib/x86_64-linux-gnu
export LD_LIBRARY_PATH=$libs:$tree/lib/x86_64-linux-gnu XDG_RUNTIME_DIR=/run
for d in bus_pci net_virtio mempool_ring; do plugins="$plugins -d $(echo $libs/dpdk/pmds-*/librte_$d.so)"; done
exec ip netns exec $netns $tree/usr/bin/dpdk-testpmd --lcores 0@0,1@1 -m 64 --file-prefix $netns $plugins "$@"
`

// testpmd runs Debian's testpmd in container dp, on the devices of endpoints, and returns what ends it, with its text.
func (p *plugged) testpmd(t *testing.T, tree string, on []heddle.Endpoint, args ...string) (end func() string) {
	t.Helper()
	groups, argv := "", []string{}
	for _, e := range on {
		groups += fmt.Sprint(e.NIC.Device.Group) + " "
		argv = append(argv, "-a", e.NIC.Device.Address)
	}
	argv = append([]string{"unshare", "--mount", "sh", "-c", dpdkContainer, "container", tree, "dp", groups}, argv...)
	argv = append(append(argv, "--", "--total-num-mbufs=2048", "--auto-start", "--stats-period=1"), args...)
	p.vm.Run(t, append([]string{"sh", "-c", "\"$@\" >/run/dp.log 2>&1 & echo $! >/run/dp.pid", "sh"}, argv...)...)
	said := func() string { return p.vm.Run(t, "cat", "/run/dp.log") }
	world.Within(t, 3*world.Patience, "testpmd forwards", func() error {
		if text := said(); !strings.Contains(text, "statistics for port") {
			return errors.New(text)
		}
		return nil
	})
	return func() string {
		p.vm.Run(t, "sh", "-c", "kill -9 $(cat /run/dp.pid)")
		return said()
	}
}

// TestSoakDPDK: Debian's testpmd, in a container with two NICs that are plugged in, answers echo requests on both, and forwards from one to the other. The ports behind
// them, on the hypervisor, drop what it forges: a program without a kernel is guarded as any container.
func TestSoakDPDK(t *testing.T) {
	soak.Need(t, "takes minutes where the processor is emulated, and fetches packages")
	for _, kernel := range boot.Versions() {
		t.Run("linux-"+kernel, func(t *testing.T) {
			vm.SkipOther(t, kernel, "6.12")
			tree := vm.Packages(t, "dpdk")
			p := raisePlugged(t, kernel, dpdkConfig, 4)
			own := p.devices(t)
			t.Run("bound", func(t *testing.T) { plugPrograms(t, p, own) })
			t.Run("testpmd", func(t *testing.T) { onDPDK(t, p, own, tree) })
			t.Run("killed", func(t *testing.T) { plugProgramsKilled(t, p, own) })
		})
	}
}

func onDPDK(t *testing.T, p *plugged, own int, tree string) {
	p.vm.Run(t, "sh", "-c", "echo 96 >/proc/sys/vm/nr_hugepages; ip netns add dp")
	var on []heddle.Endpoint
	for i, network := range []string{"lan", "other"} {
		p.vm.Heddle(t, "network", "create", "raw-"+network, "--mode", "direct", "--opt", "plug="+network, "--opt", "driver=vfio-pci")
		on = append(on, p.programs(t, "dp", fmt.Sprint("eth", i), "raw-"+network))
		p.hv.Run(t, "ip", "netns", "add", network)
		p.hv.Heddle(t, "attach", network, "--netns", network, "--id", network, "--ip", peerOf[network])
	}
	p.vm.Heddle(t, "audit")
	ping := func(from string, to heddle.Endpoint) error {
		out, err := p.hv.TryRun("ip", "netns", "exec", from, "ping", "-n", "-c3", "-W5", to.Addrs[0].Addr().String())
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}

	end := p.testpmd(t, tree, on, "--forward-mode=icmpecho")
	for i, network := range []string{"lan", "other"} {
		world.Soon(t, "testpmd answers on "+network, func() error { return ping(network, on[i]) })
	}
	p.vm.Heddle(t, "audit")
	if out, err := p.vm.TryHeddle(t, "detach", "dp/eth0"); err == nil || !strings.Contains(out, "a program has") {
		t.Errorf("testpmd has the NIC open, and it is detached: %v, %s", err, out)
	}
	end()
	for _, e := range on {
		world.Soon(t, e.ID.String()+" is there, or has ended", func() error { // the first was to end, and does
			_, err := p.vm.Client.Endpoint(t.Context(), e.ID)
			if gone := heddle.NoEndpoint.In(err) != nil; gone != (e.ID.IfName == "eth0") {
				return fmt.Errorf("%v", err)
			}
			return nil
		})
	}
	on[0] = p.programs(t, "dp", "eth0", "raw-lan")

	// it forwards what comes to one NIC out of the other, with the sender's addresses
	end = p.testpmd(t, tree, on, "--forward-mode=io")
	before := p.dropped(t)
	p.hv.Run(t, "ip", "-n", "lan", "neighbour", "replace", on[0].Addrs[0].Addr().String(), "lladdr", string(on[0].MAC), "dev", "eth0")
	p.hv.Run(t, "ip", "netns", "exec", "lan", "bash", "-c", fmt.Sprintf("for i in {1..50}; do echo x >/dev/udp/%s/9; done", on[0].Addrs[0].Addr()))
	world.Soon(t, "the port behind the other NIC drops what was forwarded", func() error {
		if now := p.dropped(t); now < before+50 {
			return fmt.Errorf("%d drops, %d before", now, before)
		}
		return nil
	})
	if text := end(); !strings.Contains(text, "RX-packets: 50 ") || !strings.Contains(text, "TX-packets: 50 ") {
		t.Errorf("testpmd has not received 50 packets, and sent 50:\n%s", text)
	}

	// it sends by its own MAC address: with its own IP address, and with another container's
	for _, c := range []struct {
		from   string
		passes bool
	}{{on[1].Addrs[0].Addr().String(), true}, {"10.71.0.99", false}} {
		before, got := p.dropped(t), p.received(t)
		end = p.testpmd(t, tree, on[1:], "--forward-mode=txonly", "--tx-ip="+c.from+","+peerOf["other"], "--eth-peer=0,"+p.hv.Run(t, "ip", "netns", "exec", "other", "cat", "/sys/class/net/eth0/address"))
		world.Soon(t, "packets pass, or are dropped", func() error {
			dropped, received := p.dropped(t)-before, p.received(t)-got
			if c.passes && (received < 50 || dropped > 0) || !c.passes && (dropped < 50 || received > 0) {
				return fmt.Errorf("from %s: %d dropped, %d received", c.from, dropped, received)
			}
			return nil
		})
		end()
	}
	p.vm.KillAgent(t)
	p.vm.StartAgent(t)
	for _, e := range on {
		p.vm.Heddle(t, "detach", e.ID.String())
	}
	p.vm.Run(t, "ip", "netns", "delete", "dp")
	for _, network := range []string{"lan", "other"} {
		p.hv.Heddle(t, "detach", network)
	}
	if n := p.devices(t); n != own {
		t.Errorf("%d devices, %d before", n, own)
	}
	p.clean(t)
}

// peerOf are the addresses of the hypervisor's containers, by network.
var peerOf = map[string]string{"lan": "10.70.0.200", "other": "10.71.0.200"}

// dropped is how many packets the ports of the hypervisor have dropped.
func (p *plugged) dropped(t *testing.T) (all uint64) {
	t.Helper()
	s, err := p.hv.Client.Status(t.Context())
	cell.Must(t, err)
	for _, n := range s.Drops {
		all += n
	}
	return all
}

// received is how many UDP packets have come to the hypervisor's container on network other, for which nobody listens there.
func (p *plugged) received(t *testing.T) (n uint64) {
	t.Helper()
	out := p.hv.Run(t, "ip", "netns", "exec", "other", "awk", "$1 == \"Udp:\" && $2 ~ /[0-9]/ { print $3 }", "/proc/net/snmp")
	if _, err := fmt.Sscan(out, &n); err != nil {
		t.Fatal(err, out)
	}
	return n
}
