package modes_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// beside are the addresses at which containers on a LAN ask.
var beside = []netip.Addr{heddle.ResolverAddr(heddle.IPv4), heddle.ResolverAddr(heddle.IPv6)}

// nameless gives a container a name, and no resolv.conf.
func nameless(name string) world.PodOption {
	return func(r *heddle.AttachRequest) { r.Name = name }
}

// says waits until a container's question has this answer at both addresses, by UDP and by TCP.
func says(t *testing.T, p *world.Pod, name string, kind uint16, want string) {
	t.Helper()
	for _, at := range beside {
		for _, network := range []string{"udp", "tcp"} {
			world.Within(t, world.RepairTime, fmt.Sprintf("%s is told of %s at %s by %s", p.Name, name, at, network), func() error {
				said, err := world.Resolve(p, network, at, name, kind)
				if err == nil && said != want {
					err = fmt.Errorf("told %s, not %s", said, want)
				}
				return err
			})
		}
	}
}

// TestAskBesideLAN: containers of macvlan ask by the device that the host has beside them, each for
// the names of its own networks, whichever parent they are on. The host keeps one MAC address.
func TestAskBesideLAN(t *testing.T) {
	var folders agent.Options
	w := world.New(t, world.Answering(t, &folders))
	secondUplink(t)
	w.Network(t, "lan", "macvlan", onLAN)
	w.Network(t, "far", "macvlan", func(n *heddle.Network) { n.Parent, n.Subnets, n.Ranges = "up1", nil, nil })
	w.Network(t, "apart", "macvlan", onLAN, world.With("host-access=false"), func(n *heddle.Network) {
		n.Parent, n.Subnets, n.Ranges = "up1", []netip.Prefix{netip.MustParsePrefix("198.51.101.0/24")}, nil
	})
	web, db := w.Pod(t, "web", "lan", nameless("web")), w.Pod(t, "db", "lan", nameless("db"))
	other := w.Pod(t, "other", "far", nameless("web"))
	both := w.Pod(t, "both", "lan")
	second := both.Join(t, "far", world.As("eth1"))
	says(t, web, "db", dns.TypeA, db.V4().String())
	says(t, web, "db.lan", dns.TypeAAAA, db.V6().String())
	says(t, web, "db.far.heddle.internal", dns.TypeA, "NXDOMAIN")
	says(t, other, "db", dns.TypeA, "NXDOMAIN")
	says(t, other, "web", dns.TypeA, other.V4().String())
	of := []string{web.V4().String(), other.V4().String()}
	slices.Sort(of)
	says(t, both, "web", dns.TypeA, strings.Join(of, " "))
	both.Sh(t, "ip route flush proto %d %s/32 dev eth0 && ip -6 route flush proto %[1]d %[3]s/128 dev eth0", heddle.RouteProtocol, beside[0], beside[1])
	says(t, both, "web.far", dns.TypeA, other.V4().String())
	if _, err := w.Detach(context.Background(), second.ID); err != nil {
		t.Fatal(err)
	}

	in := world.NewNetns(t, "none")
	reply, err := w.Attach(context.Background(), w.Request(in, "apart"))
	if err != nil || len(reply.Resolvers) > 0 {
		t.Errorf("without a way to the host, a container is told to ask at %v (%v)", reply.Resolvers, err)
	}
	if _, err := w.Detach(context.Background(), reply.Endpoint.ID); err != nil {
		t.Fatal(err)
	}

	own := strings.Fields(cell.Sh(t, "ip -br link show up0"))[2]
	w.Outside.Sh(t, "ip neighbour flush dev eth0")
	w.Outside.Reaches(t, world.Host4, world.Host6)
	for _, addr := range lanAddrs {
		if seen := w.Outside.Sh(t, "ip neighbour show %s dev eth0", addr); !strings.Contains(seen, own) {
			t.Errorf("the LAN sees %s as %s, want %s", addr, seen, own)
		}
	}
	// The host has no address of its own in this network: it calls the container from the resolver's.
	w.Network(t, "lone", "macvlan", func(n *heddle.Network) {
		n.Parent, n.Subnets, n.Ranges = "up1", []netip.Prefix{netip.MustParsePrefix("198.51.102.0/24")}, nil
	})
	lone := w.Pod(t, "lone", "lone")
	var l net.Listener
	cell.Must(t, lone.Do(func() (err error) {
		l, err = net.Listen("tcp4", netip.AddrPortFrom(lone.V4(), 80).String())
		return err
	}))
	defer l.Close()
	c, err := net.DialTimeout("tcp4", l.Addr().String(), world.Patience)
	cell.Must(t, err)
	c.Close()

	w.Restart(t, nil)
	says(t, db, "web", dns.TypeA, web.V4().String())
}
