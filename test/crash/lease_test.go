package crash_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// TestKillWithLease kills the agent at every step of what it does with addresses of a DHCP server: an
// attach, a detach, and the change to another address. Afterwards the container has the address of its
// lease, and no other.
func TestKillWithLease(t *testing.T) {
	soak.Turn(t, 0)
	cell.Need(t)
	outside := world.NewNetns(t, "outside")
	cell.Sh(t, `ip link add lan0 type veth peer name eth0 netns outside; ip link set lan0 up
		ip -n outside address add 192.0.2.2/24 dev eth0; ip -n outside link set eth0 up
		ip link add nic0 type veth peer name eth1 netns outside; ip -n outside link set eth1 up`)
	t.Cleanup(func() { cell.TrySh("ip link del lan0; ip link del nic0") })
	outside.ServeDHCP(t, "eth1")
	server := outside.ServeDHCP(t, "eth0")
	server.Set(func() { server.T1 = time.Second })
	net := heddle.Network{Name: "net", Mode: "macvlan", Parent: "lan0", Options: map[string]string{"addresses": "dhcp"}}
	request := func(pod string) heddle.AttachRequest {
		return heddle.AttachRequest{Network: "net", ID: heddle.EndpointID{Container: "c1", IfName: "eth0"}, Netns: pod}
	}
	create := func(t *testing.T, a *cell.Agent, _ string) {
		_, _, err := a.CreateNetwork(ctx, net, false)
		cell.Must(t, err)
	}
	attached := func(t *testing.T, a *cell.Agent, pod string) {
		create(t, a, pod)
		_, err := a.Attach(ctx, request(pod))
		cell.Must(t, err)
	}
	createDirect := func(t *testing.T, a *cell.Agent, _ string) {
		_, _, err := a.CreateNetwork(ctx, heddle.Network{Name: "net", Mode: "direct", Parent: "nic0", Options: net.Options}, false)
		cell.Must(t, err)
	}
	detach := func(a *cell.Agent) error {
		_, err := a.Detach(ctx, request("").ID)
		return err
	}
	clearAll := func(t *testing.T, a *cell.Agent) {
		cell.Must(t, detach(a))
		cell.Must(t, a.DeleteNetwork(ctx, "net"))
	}
	for _, op := range []operation{
		{name: "attach", prepare: create, run: func(a *cell.Agent, pod string) error {
			_, err := a.Attach(ctx, request(pod))
			return err
		}, clear: clearAll},
		{name: "detach", prepare: attached, run: func(a *cell.Agent, _ string) error { return detach(a) }, clear: clearAll},
		{name: "attach a NIC", prepare: createDirect, run: func(a *cell.Agent, pod string) error {
			if _, err := a.Attach(ctx, request(pod)); err != nil {
				return err
			}
			return hasItsLease(a)
		}, clear: clearAll},
		{name: "detach a NIC", prepare: func(t *testing.T, a *cell.Agent, pod string) {
			createDirect(t, a, pod)
			_, err := a.Attach(ctx, request(pod))
			cell.Must(t, err)
		}, run: func(a *cell.Agent, _ string) error { return detach(a) }, clear: func(t *testing.T, a *cell.Agent) {
			clearAll(t, a)
			cell.Sh(t, "ip link show nic0 | grep -q 'state DOWN'")
		}},
		{name: "another address", prepare: attached, run: func(a *cell.Agent, pod string) error {
			was, err := a.Endpoint(ctx, request("").ID)
			if err != nil {
				return err
			}
			server.Set(func() { server.TakesBack = true })
			_, err = poll.Until(20*time.Second, 20*time.Millisecond, func() error {
				is, err := a.Endpoint(ctx, was.ID)
				switch {
				case a.Dead():
					return poll.Final(errors.New("it is dead"))
				case err != nil:
					return err
				case len(is.Addrs) == 0 || is.Addrs[0] == was.Addrs[0]:
					return fmt.Errorf("%+v", is)
				}
				return hasItsLease(a)
			})
			if err == nil { // the change has some steps left; another attach waits for its end
				_, err = a.Attach(ctx, request(pod))
			}
			return err
		}, clear: clearAll, settle: func(t *testing.T, a *cell.Agent) {
			server.Set(func() { server.TakesBack = false })
			_, err := poll.Until(20*time.Second, 20*time.Millisecond, func() error { return hasItsLease(a) })
			cell.Must(t, err)
		}},
	} {
		t.Run(op.name, func(t *testing.T) { killAtEveryStep(t, op) })
	}
}

// hasItsLease fails unless the container has the address that its endpoint has, and no other.
func hasItsLease(a *cell.Agent) error {
	e, err := a.Endpoint(ctx, heddle.EndpointID{Container: "c1", IfName: "eth0"})
	if err != nil {
		return err
	}
	is, err := cell.TrySh("ip -n pod -4 -o address show dev eth0 | awk '{print $4}'")
	if err != nil || len(e.Addrs) != 1 || is != e.Addrs[0].String() || !e.DHCP.Held {
		return fmt.Errorf("the container has %q (%v), its endpoint %v, lease %+v", is, err, e.Addrs, e.DHCP)
	}
	if routes, err := cell.TrySh("ip -n pod route show default"); err != nil || routes == "" {
		return fmt.Errorf("no default route (%v)", err)
	}
	return nil
}
