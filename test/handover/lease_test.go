package handover_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }
func addr(s string) netip.Addr     { return netip.MustParseAddr(s) }

// TestPool: a subnet is spoken for before there is a network, and stays so.
func TestPool(t *testing.T) {
	w := world.New(t)
	asked := agent.PoolRequest{Subnet: prefix("10.99.0.0/24"), Range: prefix("10.99.0.128/25")}
	p, err := w.RequestPool(asked)
	cell.Must(t, err)
	if p.ID != "10.99.0.0/24,10.99.0.128/25" || p.Gateway != prefix("10.99.0.1/24") {
		t.Errorf("%+v", p)
	}
	w.Restart(t, nil)
	again, err := w.RequestPool(asked)
	if err != nil || again.ID != p.ID || again.Gateway != p.Gateway || !again.Asked.Equal(p.Asked) {
		t.Errorf("asked again %+v, %v", again, err)
	}
	for _, s := range []string{"10.99.0.0/24", "10.99.0.0/16", "10.99.0.64/26"} {
		_, err = w.RequestPool(agent.PoolRequest{Subnet: prefix(s)})
		wantCode(t, err, heddle.SubnetOverlap)
	}
	_, err = w.RequestPool(agent.PoolRequest{Subnet: prefix("10.98.0.0/24"), Range: prefix("10.97.0.0/25")})
	wantCode(t, err, heddle.BadSubnet)
	_, err = w.Lease(ctx, p.ID, netip.Addr{}, "")
	wantCode(t, err, heddle.NoNetwork)
	_, err = w.Lease(ctx, p.ID, addr("10.98.0.1"), "")
	wantCode(t, err, heddle.OutsidePool)
	cell.Must(t, w.ReleasePool(p.ID))
	cell.Must(t, w.ReleasePool(p.ID))
	n := w.Network(t, "net", "bridge")
	_, err = w.RequestPool(agent.PoolRequest{Subnet: n.Subnets[0]})
	wantCode(t, err, heddle.SubnetOverlap)
	p, err = w.RequestPool(agent.PoolRequest{Network: n.ID, V6: true})
	if err != nil || p.Subnet != n.Subnets[1] || p.Gateway.Addr() != n.Gateways[1] {
		t.Errorf("the pool of a network is %+v, %v", p, err)
	}
	if got, known := w.PoolOf(n.Subnets[1]); !known || got.ID != p.ID {
		t.Errorf("found %+v %v", got, known)
	}
}

// TestFreeSubnets: each is another, and none is in the way of anything.
func TestFreeSubnets(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge", func(n *heddle.Network) { n.Subnets[0] = prefix("10.128.0.0/10") })
	world.Netns{}.Sh(t, "ip link add far type veth peer name further; ip link set further up; ip link set far up; ip route add 10.192.0.0/11 dev far; ip address add 10.224.0.1/12 dev far")
	t.Cleanup(func() { world.Netns{}.TrySh("ip link del far") })
	var all []netip.Prefix
	for i := range 40 {
		p, err := w.RequestPool(agent.PoolRequest{V6: i%2 == 1})
		cell.Must(t, err)
		for _, other := range append(all, prefix("10.128.0.0/10"), prefix("10.192.0.0/11"), prefix("10.224.0.0/12")) {
			if p.Subnet.Overlaps(other) {
				t.Errorf("%s overlaps %s", p.Subnet, other)
			}
		}
		if p.Subnet.Addr().Is6() != (i%2 == 1) {
			t.Errorf("%s is of the other family", p.Subnet)
		}
		all = append(all, p.Subnet)
	}
}

// TestLease: leased addresses are nobody else's, whatever happens between.
func TestLease(t *testing.T) {
	w := world.New(t)
	p, err := w.RequestPool(agent.PoolRequest{Subnet: prefix("10.99.0.0/29")})
	cell.Must(t, err)
	early, err := w.Lease(ctx, p.ID, addr("10.99.0.4"), "")
	if err != nil || early != prefix("10.99.0.4/29") {
		t.Fatalf("before there is a network: %s, %v", early, err)
	}
	aux, err := w.Lease(ctx, p.ID, addr("10.99.0.6"), "")
	cell.Must(t, err)
	w.Network(t, "net", "bridge", func(n *heddle.Network) {
		n.Subnets = []netip.Prefix{p.Subnet}
		n.Reserved = []netip.Addr{aux.Addr()}
	})
	got := map[netip.Prefix]bool{early: true}
	for range 3 {
		a, err := w.Lease(ctx, p.ID, netip.Addr{}, "")
		cell.Must(t, err)
		if got[a] || a.Addr() == addr("10.99.0.1") || a == aux {
			t.Errorf("%s is given out twice", a)
		}
		got[a] = true
		w.Restart(t, nil)
	}
	_, err = w.Lease(ctx, p.ID, netip.Addr{}, "")
	wantCode(t, err, heddle.PoolExhausted)
	_, err = w.Attach(ctx, w.Request(world.NewNetns(t, "b"), "net"))
	wantCode(t, err, heddle.PoolExhausted)
	_, err = w.Lease(ctx, p.ID, early.Addr(), "0a:00:00:00:00:01")
	wantCode(t, err, heddle.AddressTaken)
	same, err := w.Lease(ctx, p.ID, early.Addr(), "")
	if err != nil || same != early {
		t.Errorf("the same again: %s, %v", same, err)
	}

	a := w.Engine(t, "a", "net", world.IP(early.Addr().String()))
	written := w.CutAt(1)
	cell.Must(t, w.Unlease(p.ID, early.Addr())) // the engine forgets it too soon, as it always does
	if step := written(); step != "" {
		t.Errorf("it is written down (%s) before the endpoint is gone", step)
	}
	w.TripAt(nil)
	_, err = w.Lease(ctx, p.ID, early.Addr(), "")
	wantCode(t, err, heddle.AddressTaken)
	_, err = w.Detach(ctx, a.Endpoint.ID)
	cell.Must(t, err)
	world.Within(t, 20*world.Patience, "the released lease is over", func() error {
		_, err := w.Lease(ctx, p.ID, early.Addr(), "")
		return err
	})
	for _, l := range w.Leases() {
		cell.Must(t, w.Unlease(l.Pool, l.Addr.Addr()))
	}
	cell.Must(t, w.ReleasePool(p.ID))
	if left := w.Leases(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestAgain: a container that is started anew gets the address that it had, since
// its engine says nothing but that it wants one.
func TestAgain(t *testing.T) {
	w := world.New(t)
	n := w.Network(t, "net", "overlay")
	pool := n.Subnets[0].String()
	var all []netip.Addr
	for range 3 {
		a, err := w.Lease(ctx, pool, netip.Addr{}, "")
		cell.Must(t, err)
		all = append(all, a.Addr())
	}
	start := func(a netip.Addr) {
		if got, err := w.Lease(ctx, pool, netip.Addr{}, ""); err != nil || got.Addr() != a {
			t.Errorf("gave %s back and got %s, %v", a, got, err)
		}
	}
	for _, a := range append(all, all...) {
		cell.Must(t, w.Unlease(pool, a))
		start(a)
	}
	for _, a := range all { // all are stopped, then all started
		cell.Must(t, w.Unlease(pool, a))
	}
	for _, a := range all {
		start(a)
	}
	cell.Must(t, w.Unlease(pool, all[0]))
	_, err := w.Lease(ctx, pool, all[0], "")
	cell.Must(t, err)
	if got, err := w.Lease(ctx, pool, netip.Addr{}, ""); err != nil || got.Addr() == all[0] {
		t.Errorf("an address that somebody asked for by name is given out again: %s, %v", got, err)
	}
	special := addr("10.20.1.9")
	_, err = w.Lease(ctx, pool, special, "")
	cell.Must(t, err)
	cell.Must(t, w.Unlease(pool, special))
	if got, err := w.Lease(ctx, pool, netip.Addr{}, ""); err != nil || got.Addr() == special {
		t.Errorf("an address that was asked for by name is given out unasked: %s, %v", got, err)
	}
	for _, l := range w.Leases() {
		cell.Must(t, w.Unlease(l.Pool, l.Addr.Addr()))
	}
}

// TestTakenOver: who wants the addresses of a container that is gone, of which nobody
// has told, does not wait until that is found out; those of one that lives are refused.
func TestTakenOver(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	ns := world.NewNetns(t, "a")
	reply := w.HandOver(t, ns, "net")
	a := &world.Pod{Netns: ns, Endpoint: reply.Endpoint}
	a.Take(t, reply, "eth0")
	noticed(t, w, a)
	q := w.HandOverRequest(world.NewNetns(t, "b"), reply)
	q.ID.Container = "b"
	_, err := w.Attach(ctx, q)
	wantCode(t, err, heddle.AddressTaken)
	ns.Delete()
	// the kernel takes the namespaces of the whole machine down one after another
	world.Within(t, 20*world.Patience, "the kernel has removed the link", func() error {
		if out, err := (world.Netns{}).TrySh("ip link show dev " + reply.Endpoint.ID.PortName()); err == nil {
			return errors.New(out)
		}
		return nil
	})
	b, err := w.Attach(ctx, q)
	cell.Must(t, err)
	if !slices.Equal(b.Endpoint.Addrs, reply.Endpoint.Addrs) {
		t.Errorf("%v, not %v", b.Endpoint.Addrs, reply.Endpoint.Addrs)
	}
	if all := w.Endpoints(); len(all) != 1 {
		t.Errorf("%+v", all)
	}
	_, err = w.Detach(ctx, q.ID)
	cell.Must(t, err)
	w.AuditEmpty(t)
}

// TestForgotten: an address that an engine has forgotten comes back.
func TestForgotten(t *testing.T) {
	w := world.New(t, func(o *agent.Options) { o.LeaseTime = 100 * time.Millisecond })
	n := w.Network(t, "net", "bridge")
	a := w.Engine(t, "a", "net")
	_, err := w.Lease(ctx, n.Subnets[0].String(), netip.Addr{}, "")
	cell.Must(t, err)
	world.Within(t, 20*world.Patience, "only what is used stays leased", func() error {
		if left := w.Leases(); len(left) != 2 {
			return fmt.Errorf("%v", left)
		}
		return nil
	})
	for _, l := range w.Leases() {
		if l.Addr != a.Endpoint.Addrs[0] && l.Addr != a.Endpoint.Addrs[1] {
			t.Errorf("%s is left", l.Addr)
		}
	}
}

// TestCutOff: an operation that is cut off at any step, and an agent that starts
// anew then, leave what was before or what was to be; asked again, it is done.
func TestCutOff(t *testing.T) {
	w := world.New(t)
	n := w.Network(t, "net", "overlay")
	ns := world.NewNetns(t, "a")
	pool, ip := n.Subnets[0].String(), addr("10.20.0.9")
	ip6 := addr("fd20::9")
	var reply heddle.AttachReply
	request := w.Request(ns, "net", world.IP(ip.String()), world.IP(ip6.String()))
	request.ID.IfName, request.Handover = "eth", true
	id := request.ID
	for _, op := range []struct {
		name string
		do   func() error
	}{
		{"request pool", func() error { _, err := w.RequestPool(agent.PoolRequest{Network: n.ID}); return err }},
		{"lease", func() error { _, err := w.Lease(ctx, pool, ip, ""); return err }},
		{"lease v6", func() error { _, err := w.Lease(ctx, n.Subnets[1].String(), ip6, ""); return err }},
		{"attach", func() (err error) { reply, err = w.Attach(ctx, request); return err }},
		{"take", func() error {
			if _, err := ns.TrySh("ip link show dev eth0"); err != nil {
				ns.Take(t, reply, "eth0")
			}
			return w.Noticed(id, "eth0")
		}},
		{"publish", func() error {
			_, err := w.Publish(ctx, id, []heddle.PortMapping{world.Mapping("8080:80/tcp")})
			return err
		}},
		{"unpublish", func() error { _, err := w.Publish(ctx, id, nil); return err }},
		{"detach", func() error { _, err := w.Detach(ctx, id); return err }},
		{"unlease", func() error { return w.Unlease(pool, ip) }},
		{"unlease v6", func() error { return w.Unlease(n.Subnets[1].String(), ip6) }},
		{"release pool", func() error { return w.ReleasePool(pool) }},
	} {
		t.Run(op.name, func(t *testing.T) { cutOff(t, w, op.do) })
	}
	if left := w.Leases(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func cutOff(t *testing.T, w *world.World, do func() error) {
	for at := 1; ; at++ {
		name := w.CutAt(at)
		err := do()
		cut := name()
		if cut == "" {
			cell.Must(t, err)
			t.Logf("%d steps", at-1)
			if at == 1 {
				t.Error("the agent does not count the steps")
			}
			w.AuditEmpty(t)
			return
		}
		w.Restart(t, func() { w.TripAt(nil) })
		w.AuditEmpty(t)
		if t.Failed() {
			t.Fatalf("cut off at step %d, %s", at, cut)
		}
	}
}
