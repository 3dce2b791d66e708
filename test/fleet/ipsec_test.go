package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gopacket/gopacket/layers"

	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/path"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// TestIPsec has hosts demand IPsec of each other's tunnels, without keys: nothing goes
// out in clear any more, and nothing that comes in clear is taken. The agents say so;
// when the policies go the fast path carries again.
func TestIPsec(t *testing.T) {
	soak.Turn(t, 2)
	f := newCluster(t, 2, func(o *lab.Options) { o.Name = "ipsec" })
	f.network(t, "app", "10.10.0.0/24", "fd10::/64")
	one, two := f.hosts[0].attach(t, "one", "app"), f.hosts[1].attach(t, "two", "app")
	one.finds(t, two.addrs()...)
	one.fast(t, two, true, "sent", "received")
	for _, c := range []struct {
		name        string
		first, far  []string // directions of the policies on the hosts
		from, to    *pod
		path        string // that is left to the stack, on the first host
		leavesClear bool
	}{
		{"both ways", []string{"out", "in"}, []string{"out", "in"}, one, two, "sent", false},
		{"what goes out", []string{"out"}, nil, one, two, "sent", false},
		{"what comes in", []string{"in"}, nil, two, one, "received", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.demand(t, 0, c.first...)
			f.demand(t, 1, c.far...)
			one.fast(t, two, false, c.path)
			wire, inside := c.from.on.Netns.Capture(t, "eth0"), c.to.Capture(t, "eth0")
			c.from.Silent(t, c.to.addrs()...)
			if n := world.Count(wire.Stop(), tunnelled); (n > 0) != c.leavesClear {
				t.Errorf("%d packets left in clear", n)
			}
			if n := world.Count(inside.Stop(), echoes); n > 0 {
				t.Errorf("%d packets came that the host had to drop", n)
			}
			f.demand(t, 0)
			f.demand(t, 1)
			one.fast(t, two, true, "sent", "received")
		})
	}
}

// tunnelled reports VXLAN that leaves, echoes a ping that comes.
func tunnelled(x world.Frame) bool {
	l, ok := x.Packet().Layer(layers.LayerTypeUDP).(*layers.UDP)
	return ok && x.Out && l.DstPort == layers.UDPPort(path.Default().Port())
}

func echoes(x world.Frame) bool {
	p := x.Packet()
	return !x.Out && (p.Layer(layers.LayerTypeICMPv4) != nil || p.Layer(layers.LayerTypeICMPv6Echo) != nil)
}

// demand sets a host's policies for the tunnels' port, and waits until its agent has
// heard of them.
func (f *fleet) demand(t *testing.T, host int, directions ...string) {
	t.Helper()
	h, peer := f.hosts[host], f.hosts[1-host]
	h.Sh(t, "ip xfrm policy flush")
	for _, d := range directions {
		src, dst := h.Addr4, peer.Addr4
		if d == "in" {
			src, dst = dst, src
		}
		h.Sh(t, "ip xfrm policy add dir %s src %s/32 dst %s/32 proto udp dport %d tmpl src %[2]s dst %[3]s proto esp mode transport", d, src, dst, path.Default().Port())
	}
	world.Within(t, 30*world.Patience, "the agent of "+h.Host.Name+" heeds its policies", func() error {
		st, err := h.Status(context.Background())
		if p := st.Part("fast path"); p.Name != "" && strings.Contains(p.Detail, "IPsec") == (len(directions) > 0) {
			return nil
		}
		return fmt.Errorf("%w: %v", err, st.Parts)
	})
}

// fast waits until a ping to another container and back is carried on the paths, or is
// left to the stack.
func (p *pod) fast(t *testing.T, to *pod, carried bool, paths ...string) {
	t.Helper()
	world.Within(t, 10*world.Patience, fmt.Sprintf("carried: %t", carried), func() error {
		before := p.counts(t)
		there, back := p.Ping(to.addrs()[0], "-W0.3"), to.Ping(p.addrs()[0], "-W0.3")
		after := p.counts(t)
		for _, path := range paths {
			if (after[path] > before[path]) != carried {
				return fmt.Errorf("%s: %d, before %d: %v", path, after[path], before[path], errors.Join(there, back))
			}
		}
		return nil
	})
}

// counts are the packets that the fast path has carried for the container, by path.
func (p *pod) counts(t *testing.T) map[string]uint64 {
	t.Helper()
	e, err := p.on.Endpoint(context.Background(), p.ID)
	if err != nil || e.Fast == nil {
		t.Fatalf("no counters of the fast path: %v", err)
	}
	return e.Fast.Packets
}
