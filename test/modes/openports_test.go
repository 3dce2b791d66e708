package modes_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/world"
)

// TestOpenPorts: where the host's port is left open, the endpoint gets the first free one of the
// range, or any; the answer says which, and it stays while the endpoint or its name does.
func TestOpenPorts(t *testing.T) {
	one(t, func(t *testing.T, mode string) {
		w := world.New(t)
		w.Network(t, "net", mode)
		w.Host.Serve(t, 8000, world.Host4)
		w.Pod(t, "first", "net", world.Publish("8001:80/tcp"), world.Publish("192.0.2.1@8002:80/udp"))
		open := []world.PodOption{world.Publish("8000-8003:80/tcp"), world.Publish("8000-8003:80/udp"),
			world.Publish("8002:81/tcp"), world.Publish("0:80/tcp"), world.Publish("192.0.2.1@0:80/udp"), world.Publish("0:9/sctp")}
		a := w.Pod(t, "a", "net", open...)
		a.Serve(t, 80, a.Addrs()...)
		got := a.Endpoint.Ports
		for i, want := range []uint16{8003, 8001, 8002} {
			if got[i].HostPort != want {
				t.Errorf("%v, want port %d", got[i], want)
			}
		}
		asked := w.Request(a.Netns, "net", open...)
		for i, p := range got {
			if !asked.Ports[i].Admits(p) || p.HostPort == 0 || p.HostPortEnd != 0 || p.HostPort >= 32768 {
				t.Errorf("%v for %v", p, asked.Ports[i])
			}
		}
		ask := func(proto string, i int) {
			t.Helper()
			if r, err := w.Outside.Ask(proto, netip.AddrPortFrom(world.Host4, got[i].HostPort)); err != nil || r.Server != "a" {
				t.Errorf("%v: %v, %v", got[i], r, err)
			}
		}
		ask("tcp", 0)
		ask("udp", 1)
		ask("tcp", 3)
		ask("udp", 4)

		keeps := func(when string, e heddle.Endpoint, err error) {
			t.Helper()
			if err != nil || !slices.Equal(e.Ports, got) {
				t.Errorf("%s: ports %v, %v; were %v", when, e.Ports, err, got)
			}
		}
		again, err := w.Attach(ctx, asked)
		keeps("attached again", again.Endpoint, err)
		w.Restart(t, nil)
		e, err := w.Endpoint(a.Endpoint.ID)
		keeps("after a restart of the agent", e, err)
		a.Delete()
		asked.Netns = world.NewNetns(t, "a").Path
		again, err = w.Attach(ctx, asked)
		keeps("in a new namespace", again.Endpoint, err)
		ports := slices.Clone(asked.Ports)
		slices.Reverse(ports)
		e, err = w.Publish(ctx, a.Endpoint.ID, ports)
		keeps("published in another order", e, err)
		w.AuditEmpty(t)
	})
}

// TestOpenPortsRefused: without a free port nothing is made.
func TestOpenPortsRefused(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	w.Network(t, "inner", "bridge", world.Internal)
	w.Network(t, "lan", "macvlan")
	w.Host.Serve(t, 8000, world.Host4)
	w.Pod(t, "a", "net", world.Publish("8001:80/tcp"))
	spare := world.NewNetns(t, "spare")
	before, inside := w.Host.Dump(t), spare.Dump(t)
	refuse := func(network string, code heddle.Code, ports ...string) {
		t.Helper()
		var options []world.PodOption
		for _, p := range ports {
			options = append(options, world.Publish(p))
		}
		_, err := w.Attach(ctx, w.Request(spare, network, options...))
		wantCode(t, err, code)
	}
	refuse("net", heddle.PortTaken, "8000-8001:80/tcp")
	refuse("net", heddle.PortTaken, "8001-8002:80/tcp", "8001-8002:81/tcp")
	refuse("net", heddle.PortTaken, "8002:80/tcp", "8001-8002:81/tcp")
	refuse("net", heddle.PortTaken, "8001-8002:81/tcp", "8002:80/tcp")
	refuse("net", heddle.BadPort, "8002-8001:80/tcp")
	refuse("net", heddle.BadPort, "0-5:80/tcp", "0-5:0/tcp")
	refuse("net", heddle.BadPort, "8002-8003:80/icmp")
	refuse("net", heddle.BadAddress, "192.0.2.99@0:80/tcp")
	refuse("net", heddle.BadAddress, "192.0.2.99@0:80/sctp")
	refuse("inner", heddle.BadPort, "0:80/tcp")
	refuse("lan", heddle.BadPort, "0:80/tcp")
	same(t, "after refusals", before+inside, w.Host.Dump(t)+spare.Dump(t))
	w.AuditEmpty(t)
	w.Pod(t, "b", "net", world.Publish("8001-8002:80/tcp"))
}
