package fleet_test

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/world"
)

// withResolver has the agents of a fleet run resolvers.
func withResolver(o *lab.Options) {
	o.AgentCommand = append(o.AgentCommand, "--resolver", "gateway")
}

// asks reports why a container does not get this answer to a question at a resolver: an address, or
// a code such as NXDOMAIN.
func (p *pod) asks(at netip.Addr, name string, kind uint16, want string) error {
	said, err := world.Resolve(p, "udp", at, name, kind)
	if err == nil && said != want {
		err = fmt.Errorf("told %s, not %s", said, want)
	}
	return err
}

// TestResolver: a container finds one of another host by name, over IPv4 and IPv6; one of another
// network does not; and neither the death of the agent nor that of the resolver takes a name away.
func TestResolver(t *testing.T) {
	f := newCluster(t, 2, withResolver)
	one, two := f.hosts[0], f.hosts[1]
	f.network(t, "app", "10.10.0.0/16", "fd10::/64")
	f.network(t, "other", "10.11.0.0/16", "fd11::/64")
	web := two.attach(t, "web", "app", called("web", "api"), world.Publish("8080:80/tcp"))
	asker, stranger := one.attach(t, "asker", "app"), one.attach(t, "stranger", "other")
	found := func(what string) {
		t.Helper()
		n, err := one.Network(context.Background(), "app")
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range n.Gateways {
			for _, name := range []string{"web", "WEB.app", "api.app.heddle.internal"} {
				world.Within(t, time.Minute, name+" is found at "+at.String()+" "+what, func() error {
					return asker.asks(at, name, dns.TypeA, web.addrs()[0].String())
				})
			}
			if err := asker.asks(at, "web", dns.TypeAAAA, web.addrs()[1].String()); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			if err := asker.asks(at, "web", dns.TypeMX, "NOERROR"); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			if err := asker.asks(at, "_http._tcp.api", dns.TypeSRV, "0 0 80 web.app.heddle.internal."); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			back, err := dns.ReverseAddr(web.addrs()[0].String())
			if err == nil {
				err = asker.asks(at, back, dns.TypePTR, "web.app.heddle.internal.")
			}
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	found("on another host")
	one.listsAll(t, []string{"asker", "stranger"}, two, web)
	one.pings(t, asker, two, web)
	n, err := one.Network(context.Background(), "other")
	if err != nil {
		t.Fatal(err)
	}
	world.Within(t, time.Minute, "the network's own resolver answers", func() error {
		return stranger.asks(n.Gateways[0], "web", dns.TypeA, "NXDOMAIN")
	})
	if err := stranger.asks(n.Gateways[0], "web.app.heddle.internal", dns.TypeA, "NXDOMAIN"); err != nil {
		t.Errorf("from another network: %v", err)
	}

	one.kill(t)
	if err := asker.asks(n.Gateways[0], "web", dns.TypeA, ""); err == nil {
		t.Error("a container is answered at the gateway of a network that it is not on")
	}
	at := netip.MustParseAddr("10.10.0.1")
	if err := asker.asks(at, "web", dns.TypeA, web.addrs()[0].String()); err != nil {
		t.Errorf("while the agent is dead: %v", err)
	}
	one.start(t)
	found("after the agent's death")
	one.killResolver(t)
	found("after the resolver's death")
	web.detach(t)
	world.Within(t, time.Minute, "the name goes with its endpoint", func() error { return asker.asks(at, "web", dns.TypeA, "NXDOMAIN") })
	asker.detach(t)
	stranger.detach(t)
	for _, h := range f.hosts {
		h.killResolver(t)
	}
}

// killResolver kills the host's resolver, which outlives the agent.
func (h *host) killResolver(t *testing.T) {
	t.Helper()
	cmd, err := h.Command(context.Background(), "sh", "-c", "read -r pid version </run/heddle/names/lock && kill -9 $pid")
	if err == nil {
		var out []byte
		if out, err = cmd.CombinedOutput(); err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}
