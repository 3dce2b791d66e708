package crash_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/soak"
)

// TestKillWithNIC kills the agent before every step of giving a container a NIC
// and of taking it back, also when the container has died. The NIC is the same
// afterwards, to the last route.
func TestKillWithNIC(t *testing.T) {
	soak.Turn(t, 2)
	cell.Need(t)
	cell.Sh(t, `sysctl -qw net/ipv6/conf/default/accept_dad=0
		ip link add nic1 index 90 address 02:00:00:0c:01:01 type veth peer name far1; ip link set far1 up
		sysctl -qw net/ipv4/conf/nic1/rp_filter=2; ip link set nic1 alias 'a NIC' mtu 1450 up
		ip address add 10.51.0.2/24 dev nic1; ip address add fd51::2/64 dev nic1
		ip route add 198.18.0.0/24 via 10.51.0.1 dev nic1 metric 5; ip -6 route add fd52::/64 via fd51::1 dev nic1 table 51
		ip neigh add 10.51.0.7 lladdr 02:00:00:0c:07:07 dev nic1 nud permanent`)
	t.Cleanup(func() { cell.TrySh("ip link del nic1") })
	look := func(t *testing.T) string {
		return cell.Sh(t, `ip -d link show nic1; ip address show nic1; ip route show table all dev nic1; ip -6 route show table all dev nic1
			ip neigh show dev nic1 nud permanent; cat /proc/sys/net/ipv4/conf/nic1/rp_filter; find /run/udev /run/systemd /run/NetworkManager -name '*heddle*' 2>/dev/null || true`)
	}
	var before string
	// a carrier is noticed within a second, and multicast joined
	poll.Until(3*time.Minute, 1500*time.Millisecond, poll.True(func() bool {
		last := before
		before = look(t)
		return before == last
	}))
	for _, op := range nicOperations(func(t *testing.T) {
		t.Helper()
		var diff string
		poll.Until(3*time.Minute, 100*time.Millisecond, poll.True(func() bool {
			diff = cmp.Diff(before, look(t))
			return diff == ""
		}))
		if diff != "" {
			t.Errorf("the NIC is another (-before +after):\n%s", diff)
		}
	}) {
		t.Run(op.name, func(t *testing.T) { killAtEveryStep(t, op) })
	}
}

func nicOperations(unchanged func(t *testing.T)) []operation {
	req := request("direct", "")
	attachTo := func(a *cell.Agent, pod string) error {
		q := req
		q.Netns = pod
		_, err := a.Attach(ctx, q)
		return err
	}
	create := func(t *testing.T, a *cell.Agent, _ string) {
		_, _, err := a.CreateNetwork(ctx, heddle.Network{Name: "net", Mode: "direct", Parent: "nic1"}, false)
		cell.Must(t, err)
	}
	gone := func(a *cell.Agent) error {
		_, err := poll.Until(3*time.Minute, 20*time.Millisecond, func() error {
			all, err := a.Endpoints(ctx)
			if err != nil || len(all) == 0 {
				return poll.Final(err)
			}
			return errors.New("the NIC does not come back")
		})
		return err
	}
	clear := func(t *testing.T, a *cell.Agent) {
		_, err := a.Detach(ctx, req.ID)
		cell.Must(t, err)
		unchanged(t)
		cell.Must(t, a.DeleteNetwork(ctx, "net"))
	}
	dying := 0
	return []operation{
		{"attach", create, attachTo, clear, nil, 0},
		{"detach", func(t *testing.T, a *cell.Agent, pod string) {
			create(t, a, pod)
			cell.Must(t, attachTo(a, pod))
		}, func(a *cell.Agent, _ string) error {
			_, err := a.Detach(ctx, req.ID)
			return err
		}, clear, nil, 0},
		{"death", func(t *testing.T, a *cell.Agent, _ string) {
			create(t, a, "")
			dying++
			cell.Must(t, attachTo(a, cell.Netns(t, fmt.Sprintf("dying%d", dying))))
		}, func(a *cell.Agent, _ string) error {
			if out, err := cell.TrySh("ip netns del dying%d", dying); err != nil {
				return errors.New(out)
			}
			return gone(a)
		}, clear, func(t *testing.T, a *cell.Agent) { cell.Must(t, gone(a)) }, 0},
	}
}
