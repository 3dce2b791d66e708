package modes_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/frames"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestTAP: a virtual machine's port is a port as a container's: it is reached and published, it may not send as somebody
// else, and it stays as it is while the agent is away.
func TestTAP(t *testing.T) {
	w := world.New(t)
	n := w.Network(t, "net", "bridge")
	a := w.Pod(t, "a", "net")
	m := w.Machine(t, "machine", "net", world.Publish("8080:7000/tcp"), world.Publish("8080:7000/udp"))
	if e := m.Endpoint; !e.TAP || e.Netns != "" || e.Port != e.ID.PortName() {
		t.Errorf("the endpoint is %+v", e)
	}
	own := m.Addrs()
	world.Soon(t, "the machine reaches its gateway", func() error { return m.Ping(n.Gateways[0], "-W0.3") })
	m.Reaches(t, append(a.Addrs(), n.Gateways...)...)
	a.Reaches(t, own...)
	m.Serve(t, 7000, own...)
	a.Gets(t, "machine", 7000, own...)
	a.Serve(t, 7000, a.Addrs()...)
	m.Gets(t, "a", 7000, a.Addrs()...)
	w.Outside.Gets(t, "machine", 8080, world.Host4, world.Host6)
	w.Restart(t, func() { a.Reaches(t, own...) })
	a.Reaches(t, own...)
	w.AuditEmpty(t)

	w.Host.Sh(t, "ip link set %s nomaster", m.Endpoint.Port)
	if drift, err := w.Check(m.Endpoint.ID); err != nil || len(drift) == 0 {
		t.Errorf("a check of the port that left its bridge finds %v, %v", drift, err)
	}
	again, err := w.Attach(ctx, w.Request(world.Netns{Name: "machine"}, "net", world.Publish("8080:7000/tcp"), world.Publish("8080:7000/udp"), world.TAP))
	if cell.Must(t, err); !again.Existed {
		t.Error("the second attach made something")
	}
	w.AuditEmpty(t)
	off := false
	for _, change := range []world.PodOption{
		func(r *heddle.AttachRequest) { r.TAP, r.Handover, r.Netns = false, true, a.Path },
		func(r *heddle.AttachRequest) { r.TAP, r.Netns = false, a.Path },
		func(r *heddle.AttachRequest) { r.DefaultRoute = &off },
	} {
		_, err := w.Attach(ctx, w.Request(world.Netns{Name: "machine"}, "net", world.Publish("8080:7000/tcp"), world.Publish("8080:7000/udp"), world.TAP, change))
		if !errors.Is(err, heddle.EndpointDiffers.Sentinel()) {
			t.Errorf("attached in another way: %v", err)
		}
	}
	a.Reaches(t, own...)
	m.Sh(t, "ip address add %s/32 dev lo; ip address add %s/128 dev lo nodad", "10.20.0.99", "fd20::99")
	for _, from := range []string{"10.20.0.99", "fd20::99"} {
		to := a.Addr(netip.MustParseAddr(from))
		if m.Ping(to, "-W0.3", "-I"+from) == nil {
			t.Errorf("the machine is answered as %s", from)
		}
	}
	m.Sh(t, "ip link set eth0 address 02:00:00:00:00:99")
	m.Silent(t, a.Addrs()...)
	found, err := w.Detach(ctx, m.Endpoint.ID)
	if cell.Must(t, err); !found {
		t.Error("the detach found nothing")
	}
	if out, err := w.Host.TrySh("ip link show %s", m.Endpoint.Port); err == nil {
		t.Errorf("after the detach there is %s", out)
	}
	w.AuditEmpty(t)
}

// TestTAPGone: a device that somebody deletes is made again, and can be opened again.
func TestTAPGone(t *testing.T) {
	w := world.New(t, world.Watching)
	n := w.Network(t, "net", "bridge")
	a := w.Pod(t, "a", "net")
	m := w.Machine(t, "machine", "net")
	world.Soon(t, "a reaches the machine", func() error { return a.Ping(m.V4(), "-W0.3") })
	index := "ip -o link show " + m.Endpoint.Port + " | cut -d: -f1 | grep ."
	was := w.Host.Sh(t, "%s", index)
	w.Host.Sh(t, "ip link del %s", m.Endpoint.Port)
	gone := m.Endpoint
	m.Delete()
	world.Within(t, world.RepairTime, "the device is back", func() error {
		now, err := w.Host.TrySh("%s", index)
		if err == nil && now == was {
			err = fmt.Errorf("it is still the device %s", was)
		}
		return err
	})
	world.NewNetns(t, "later").Plug(t, heddle.AttachReply{Endpoint: gone, Gateways: n.Gateways})
	world.Soon(t, "a reaches the machine again", func() error { return a.Ping(m.V6(), "-W0.3") })
	w.AuditEmpty(t)
}

func TestTAPRefused(t *testing.T) {
	w := world.New(t)
	for _, mode := range []string{"bridge", "routed"} {
		w.Network(t, mode, mode)
	}
	pod := world.NewNetns(t, "pod")
	for _, c := range []struct {
		network string
		change  world.PodOption
		cause   string
	}{
		{"routed", world.TAP, "a network of mode routed has no TAP devices to give"},
		{"bridge", func(r *heddle.AttachRequest) { r.MultiQueue = true }, "only a TAP device can have several queues"},
		{"bridge", func(r *heddle.AttachRequest) { r.TAP = true }, "names a network namespace"},
		{"bridge", func(r *heddle.AttachRequest) { r.TAP, r.Handover, r.Netns = true, true, "" }, "names a network namespace"},
		{"bridge", func(r *heddle.AttachRequest) { r.TAP, r.ResolvConf, r.Netns = true, true, "" }, "resolv.conf"},
	} {
		_, err := w.Attach(ctx, w.Request(pod, c.network, c.change))
		if err == nil || !strings.Contains(err.Error(), c.cause) {
			t.Errorf("on %s: %v, want %q", c.network, err, c.cause)
		}
	}
	w.AuditEmpty(t)
}

// TestTAPFurther: a virtual machine's port has as many further addresses as it is asked to have. They are guarded and leased as the first ones,
// also by an agent that was started anew, and are another's when they are gone.
func TestTAPFurther(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	a := w.Pod(t, "a", "net")
	m := w.Machine(t, "machine", "net")
	var e heddle.Endpoint
	for range 2 { // asked again, it gets no more
		var err error
		e, err = w.Agent.Assign(ctx, m.Endpoint.ID, 2)
		cell.Must(t, err)
	}
	seen := map[netip.Prefix]bool{}
	for _, p := range e.AllAddrs() {
		seen[p] = true
	}
	if len(e.Further) != 2 || len(seen) != 6 {
		t.Fatalf("the endpoint is %+v", e)
	}
	answers := func(p netip.Prefix) error { return m.Ping(a.Addr(p.Addr()), "-W0.3", "-I"+p.Addr().String()) }
	for _, s := range e.Further {
		for _, p := range s.Addrs {
			m.Sh(t, "ip address add %s dev eth0 %s", p, map[bool]string{true: "nodad"}[p.Addr().Is6()])
			world.Soon(t, "the machine is answered as "+p.String(), func() error { return answers(p) })
			a.Reaches(t, p.Addr())
		}
	}
	w.Restart(t, func() { cell.Must(t, answers(e.Further[1].Addrs[0])) })
	w.AuditEmpty(t)
	thief := world.NewNetns(t, "thief")
	for _, s := range e.Further {
		_, err := w.Attach(ctx, w.Request(thief, "net", func(r *heddle.AttachRequest) { r.IPs = []netip.Addr{s.Addrs[0].Addr()} }))
		if !errors.Is(err, heddle.AddressTaken.Sentinel()) {
			t.Errorf("another gets %v: %v", s.Addrs, err)
		}
		cell.Must(t, answers(s.Addrs[0]))
	}
	for range 2 {
		now, err := w.Agent.Unassign(ctx, e.ID, e.Further[0].Addrs[1].Addr())
		if cell.Must(t, err); len(now.Further) != 1 || now.Further[0].Number != e.Further[1].Number {
			t.Errorf("left is %+v", now.Further)
		}
	}
	for i, p := range e.Further[0].Addrs {
		if answers(p) == nil {
			t.Errorf("the machine is answered as %v, which was taken from it", p)
		}
		cell.Must(t, answers(e.Further[1].Addrs[i]))
	}
	w.AuditEmpty(t)
	wish := e.Further[0].Addrs[1].Addr() // it rests, and is asked for
	with, err := w.Agent.Assign(ctx, m.Endpoint.ID, 2, wish)
	if cell.Must(t, err); len(with.Further) != 2 || !with.Further[1].Has(wish) {
		t.Errorf("%v was asked for, and the further addresses are %+v", wish, with.Further)
	}
	if _, err := w.Agent.Assign(ctx, m.Endpoint.ID, 3, wish); !errors.Is(err, heddle.AddressTaken.Sentinel()) {
		t.Errorf("%v is given twice: %v", wish, err)
	}
	w.AuditEmpty(t)
	for _, c := range []struct {
		id   heddle.EndpointID
		sets int
		code heddle.Code
	}{{a.Endpoint.ID, 1, heddle.BadOption}, {heddle.EndpointID{Container: "nobody", IfName: "eth0"}, 1, heddle.NoEndpoint}, {e.ID, heddle.MaxFurther + 1, heddle.BadArgument}} {
		if _, err := w.Agent.Assign(ctx, c.id, c.sets); !errors.Is(err, c.code.Sentinel()) {
			t.Errorf("%d sets for %v: %v", c.sets, c.id, err)
		}
	}
	_, err = w.Detach(ctx, e.ID)
	cell.Must(t, err)
	w.AuditEmpty(t)
	for i, s := range e.Further {
		_, err := w.Attach(ctx, w.Request(world.NewNetns(t, fmt.Sprint("heir", i)), "net", func(r *heddle.AttachRequest) { r.IPs = []netip.Addr{s.Addrs[0].Addr(), s.Addrs[1].Addr()} }))
		cell.Must(t, err)
	}
	w.AuditEmpty(t)
}

// TestMultiQueueTAP: a port for several pairs of queues is opened that often, by one at a time.
func TestMultiQueueTAP(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	several := func(r *heddle.AttachRequest) { r.MultiQueue = true }
	r := w.Request(world.Netns{Name: "machine"}, "net", world.TAP, several)
	dry := r
	dry.DryRun = true
	plan, err := w.Attach(ctx, dry)
	if cell.Must(t, err); !strings.Contains(strings.Join(plan.Commands, "\n"), " mode tap vnet_hdr multi_queue") {
		t.Errorf("the commands are %v", plan.Commands)
	}
	made, err := w.Attach(ctx, r)
	cell.Must(t, err)
	defer w.Detach(ctx, r.ID)
	queues, err := frames.OpenQueues(made.Endpoint.Port, 3)
	if err != nil || len(queues) != 3 {
		t.Fatalf("%d queues, %v", len(queues), err)
	}
	if _, err := frames.OpenQueues(made.Endpoint.Port, 1); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("opened by a second one: %v", err)
	}
	for _, f := range queues {
		f.Close()
	}
	if _, err := w.Attach(ctx, w.Request(world.Netns{Name: "machine"}, "net", world.TAP)); !errors.Is(err, heddle.EndpointDiffers.Sentinel()) {
		t.Errorf("attached for one pair: %v", err)
	}
	w.AuditEmpty(t)
}
