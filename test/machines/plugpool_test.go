package machines_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// plugWarm: a NIC waits for the next container, also while the service is away. It goes back into the pool as new, is not given again
// at once, and is there after the agent was killed.
func plugWarm(t *testing.T, p *plugged, own int) {
	p.vm.Heddle(t, "network", "create", "quick", "--mode", "direct", "--opt", "plug=lan", "--opt", "warm=1-2")
	waits := func(count int) {
		t.Helper()
		world.Within(t, 2*world.Patience, fmt.Sprintf("%d NICs are plugged in", count), func() error {
			nics := p.nics(t)
			if len(nics) != count {
				return fmt.Errorf("NICs %v", nics) // the machine is not asked, whose processor is emulated
			}
			if n := p.devices(t); n != own+count {
				return fmt.Errorf("NICs %v, and %d devices, %d before", nics, n, own)
			}
			return nil
		})
	}
	waits(1)
	p.vm.Heddle(t, "audit")
	first := p.nics(t)[0]
	fresh := p.nicState(t, first)

	p.stop()
	start := time.Now()
	e := p.attach(t, "w1", "quick")
	cell.Must(t, p.ping("w1", "10.70.0.200"))
	t.Logf("attached from the pool, and answered by a neighbour: %.2f s", time.Since(start).Seconds())
	if string(e.MAC) != first {
		t.Errorf("the container has NIC %s, and %s was warm", e.MAC, first)
	}
	p.vm.Run(t, "ip", "netns", "exec", "w1", "sh", "-c", `set -e; ip address add 192.0.2.7/24 dev eth0; ip route add 198.51.100.0/24 via 192.0.2.1
		ip link set eth0 mtu 1400 promisc on txqueuelen 77 alias mine; ip neighbour add 192.0.2.9 lladdr 0a:00:00:00:00:09 dev eth0
		tc qdisc replace dev eth0 root handle 1: pfifo limit 3; sysctl -qw net.ipv4.conf.eth0.accept_local=1; ethtool -K eth0 tx off gro off`)
	start = time.Now()
	p.vm.Heddle(t, "detach", "w1")
	t.Logf("detached, and the NIC is back in the pool: %.2f s", time.Since(start).Seconds())
	waits(1)
	p.warmStatus(t, "0 warm, 1 cooling")
	if now := p.nicState(t, first); now != fresh {
		t.Errorf("the NIC is back as\n%s\nand was plugged in as\n%s", now, fresh)
	}
	if out, err := p.hv.TryRun("ip", "netns", "exec", "beside", "ping", "-n", "-c1", "-W1", e.Addrs[0].Addr().String()); err == nil {
		t.Errorf("the address of the former container answers: %s", out)
	}
	if soak.On() { // while the service is away, an attach waits for the NIC that cools
		again := p.attach(t, "w1b", "quick")
		if again.MAC != e.MAC || time.Since(start) < 30*time.Second {
			t.Errorf("NIC %s is given %v after the detach, and %s was expected", again.MAC, time.Since(start), e.MAC)
		}
		cell.Must(t, p.ping("w1b", "10.70.0.200"))
		p.vm.Heddle(t, "detach", "w1b")
		p.vm.Run(t, "ip", "netns", "delete", "w1b")
	}
	p.serve()
	if e := p.attach(t, "w2", "quick"); string(e.MAC) == first {
		t.Errorf("NIC %s is given at once", first)
	}
	cell.Must(t, p.ping("w2", "10.70.0.200"))
	p.vm.KillAgent(t)
	p.vm.StartAgent(t)
	p.warmStatus(t, " cooling")
	waits(3) // w2's, the one that cools, and one that is ready
	p.vm.Heddle(t, "audit")
	cell.Must(t, p.ping("w2", "10.70.0.200"))
	p.vm.Heddle(t, "detach", "w2") // the pool has no room
	waits(2)
	p.vm.Run(t, "sh", "-c", "ip netns delete w1; ip netns delete w2")
	p.vm.Heddle(t, "network", "delete", "quick")
	waits(0)
	p.clean(t)
}

// warmStatus waits until the status tells that of the pools.
func (p *plugged) warmStatus(t *testing.T, want string) {
	t.Helper()
	world.Soon(t, want, func() error {
		if status := p.vm.Heddle(t, "status"); !strings.Contains(status, want) {
			return fmt.Errorf("%s", status)
		}
		return nil
	})
}

// nicState is what the machine's host has of a NIC, but for its number and name.
func (p *plugged) nicState(t *testing.T, mac string) string {
	t.Helper()
	return p.vm.Run(t, "sh", "-c", `set -e; name=$(ip -o link | grep -F "`+mac+`" | cut -d: -f2 | tr -d ' ')
		{ ip -d address show dev $name; ip route show table all dev $name; ip -6 route show table all dev $name; ip neighbour show dev $name nud permanent
		tc qdisc show dev $name; ethtool -k $name; ethtool -l $name; cat /proc/sys/net/ipv4/conf/$name/accept_local; } | sed "s/^[0-9]*: //; s/$name/NIC/g"`)
}
