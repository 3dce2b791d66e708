package modes_test

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/frames"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// machine is a network stack behind a TAP device, as a virtual machine's: a namespace whose eth0 is a TAP device, too.
// Frames are copied between the two.
type machine struct {
	world.Netns
	taps [2]*os.File
}

// plug opens an endpoint's TAP device, and gives the stack behind it the endpoint's MAC address and addresses.
func plug(t *testing.T, name string, r heddle.AttachReply) *machine {
	t.Helper()
	m := &machine{Netns: world.NewNetns(t, name)}
	var err error
	m.taps[0], err = frames.OpenTAP(r.Endpoint.Port)
	cell.Must(t, err)
	cell.Must(t, m.Do(func() (err error) {
		m.taps[1], err = frames.NewTAP("eth0")
		return err
	}))
	script := fmt.Sprintf("ip link set eth0 address %s mtu %d up\n", r.Endpoint.MAC, r.Endpoint.MTU)
	for _, a := range r.Endpoint.Addrs {
		script += "ip address add " + a.String() + " dev eth0\n"
	}
	for _, g := range r.Gateways {
		script += "ip route add " + heddle.FamilyOf(g).Any().String() + " via " + g.String() + "\n"
	}
	for i := range m.taps {
		go carry(m.taps[i], m.taps[1-i])
		t.Cleanup(func() { m.taps[i].Close() })
	}
	m.Sh(t, "%s", strings.ReplaceAll(script, "dev eth0\n", "dev eth0 nodad\n"))
	return m
}

// carry copies frames, with their virtio-net headers, until one of the devices is closed or deleted.
func carry(from, to *os.File) {
	frame := make([]byte, 70000)
	for {
		n, err := from.Read(frame)
		if err != nil {
			return
		}
		to.Write(frame[:n])
	}
}

func asTAP(r *heddle.AttachRequest) { r.TAP, r.Netns = true, "" }

// attachMachine attaches a machine to a network.
func attachMachine(t *testing.T, w *world.World, name, network string, options ...world.PodOption) (*machine, heddle.AttachReply) {
	t.Helper()
	r, err := w.Attach(ctx, w.Request(world.Netns{Name: name}, network, append(options, asTAP)...))
	cell.Must(t, err)
	return plug(t, name, r), r
}

func addrsOf(e heddle.Endpoint) (all []netip.Addr) {
	for _, p := range e.Addrs {
		all = append(all, p.Addr())
	}
	return all
}

// TestTAP: a virtual machine's port is a port as a container's: it is reached and published, it may not send as somebody
// else, and it stays as it is while the agent is away.
func TestTAP(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	a := w.Pod(t, "a", "net")
	m, made := attachMachine(t, w, "machine", "net", world.Publish("8080:7000/tcp"), world.Publish("8080:7000/udp"))
	if e := made.Endpoint; !e.TAP || e.Netns != "" || e.Port != e.ID.PortName() || len(made.Gateways) != 2 {
		t.Errorf("the answer is %+v", made)
	}
	own := addrsOf(made.Endpoint)
	world.Soon(t, "the machine reaches its gateway", func() error { return m.Ping(made.Gateways[0], "-W0.3") })
	m.Reaches(t, append(a.Addrs(), made.Gateways...)...)
	a.Reaches(t, own...)
	m.Serve(t, 7000, own...)
	a.Gets(t, "machine", 7000, own...)
	a.Serve(t, 7000, a.Addrs()...)
	m.Gets(t, "a", 7000, a.Addrs()...)
	w.Outside.Gets(t, "machine", 8080, world.Host4, world.Host6)
	w.Restart(t, func() { a.Reaches(t, own...) })
	a.Reaches(t, own...)
	w.AuditEmpty(t)

	again, err := w.Attach(ctx, w.Request(world.Netns{Name: "machine"}, "net", world.Publish("8080:7000/tcp"), world.Publish("8080:7000/udp"), asTAP))
	if cell.Must(t, err); !again.Existed {
		t.Error("the second attach made something")
	}
	m.Sh(t, "ip address add %s/32 dev lo; ip address add %s/128 dev lo", "10.20.0.99", "fd20::99")
	for _, from := range []string{"10.20.0.99", "fd20::99"} {
		to := a.Addr(netip.MustParseAddr(from))
		if m.Ping(to, "-W0.3", "-I"+from) == nil {
			t.Errorf("the machine is answered as %s", from)
		}
	}
	m.Sh(t, "ip link set eth0 address 02:00:00:00:00:99")
	m.Silent(t, a.Addrs()...)
	found, err := w.Detach(ctx, made.Endpoint.ID)
	if cell.Must(t, err); !found {
		t.Error("the detach found nothing")
	}
	if out, err := w.Host.TrySh("ip link show %s", made.Endpoint.Port); err == nil {
		t.Errorf("after the detach there is %s", out)
	}
	w.AuditEmpty(t)
}

// TestTAPGone: a device that somebody deletes is made again, and can be opened again.
func TestTAPGone(t *testing.T) {
	w := world.New(t, world.Watching)
	w.Network(t, "net", "bridge")
	a := w.Pod(t, "a", "net")
	m, made := attachMachine(t, w, "machine", "net")
	world.Soon(t, "a reaches the machine", func() error { return a.Ping(addrsOf(made.Endpoint)[0], "-W0.3") })
	index := "ip -o link show " + made.Endpoint.Port + " | cut -d: -f1 | grep ."
	was := w.Host.Sh(t, "%s", index)
	w.Host.Sh(t, "ip link del %s", made.Endpoint.Port)
	m.Delete()
	world.Within(t, world.RepairTime, "the device is back", func() error {
		now, err := w.Host.TrySh("%s", index)
		if err == nil && now == was {
			err = fmt.Errorf("it is still the device %s", was)
		}
		return err
	})
	plug(t, "later", made)
	world.Soon(t, "a reaches the machine again", func() error { return a.Ping(addrsOf(made.Endpoint)[1], "-W0.3") })
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
		{"routed", asTAP, "a network of mode routed has no TAP devices to give"},
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
