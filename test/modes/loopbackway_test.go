package modes_test

import (
	"context"
	"errors"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestLoopbackWay: 127.0.0.0/8 is routed to containers while a port is published
// there, and no longer, also if the agent was killed meanwhile.
func TestLoopbackWay(t *testing.T) {
	one(t, func(t *testing.T, mode string) {
		w := world.New(t)
		n := w.Network(t, "net", mode)
		a := w.Pod(t, "a", "net")
		b := w.Pod(t, "b", "net", world.Publish("192.0.2.1@8080:80/tcp"))
		is := func(want string, p *world.Pod) {
			t.Helper()
			link := p.Port()
			if mode == "bridge" {
				link = n.BridgeName(0)
			}
			if got := w.Host.Sh(t, "cat /proc/sys/net/ipv4/conf/%s/route_localnet", link); got != want {
				t.Errorf("route_localnet of %s is %s, want %s", link, got, want)
			}
		}
		publish := func(p *world.Pod, mappings ...string) error {
			var ports []heddle.PortMapping
			for _, m := range mappings {
				ports = append(ports, world.Mapping(m))
			}
			_, err := w.Publish(context.Background(), p.Endpoint.ID, ports)
			return err
		}
		is("0", a)
		is("0", b)
		cell.Must(t, publish(a, "8081:80/tcp"))
		is("1", a)
		cell.Must(t, publish(b, "127.0.0.1@8080:80/tcp", "::@8082:80/tcp"))
		is("1", b)
		cell.Must(t, publish(a))
		if mode == "bridge" {
			is("1", a) // the other one's
		} else {
			is("0", a)
		}
		cell.Must(t, publish(b, "::@8082:80/tcp"))
		is("0", b)
		cell.Must(t, publish(b, "127.0.0.1@8080:80/tcp"))
		stopped := errors.New("stopped by the test")
		w.TripAt(func(step string) error {
			if step == "remove sysctl/net/ipv4/conf/"+n.BridgeName(0)+"/route_localnet" || step == "remove sysctl/net/ipv4/conf/"+b.Port()+"/route_localnet" {
				return stopped
			}
			return nil
		})
		if err := publish(b); err == nil {
			t.Fatal("the way was not taken away")
		}
		w.Restart(t, func() { w.TripAt(nil) })
		cell.Must(t, publish(b))
		is("0", b)
		w.AuditEmpty(t)
	})
}

// TestNoSuchHostAddress: a port is published on addresses that are one host's.
func TestNoSuchHostAddress(t *testing.T) {
	one(t, func(t *testing.T, mode string) {
		w := world.New(t)
		w.Network(t, "net", mode)
		in := world.NewNetns(t, "a")
		for _, address := range []string{"224.0.0.1", "255.255.255.255", "192.0.2.255", "0.0.0.1", "ff02::1", "fe80::1", "::1", "::ffff:192.0.2.1"} {
			for _, proto := range []string{"tcp", "udp"} {
				_, err := w.Attach(context.Background(), w.Request(in, "net", world.Publish(address+"@8080:80/"+proto)))
				if !errors.Is(err, heddle.BadPort.Sentinel()) {
					t.Errorf("published on %s over %s: %v", address, proto, err)
				}
			}
		}
	})
}
