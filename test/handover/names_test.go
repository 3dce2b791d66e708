package handover_test

import (
	"errors"
	"fmt"
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

// found reports why a container does not find another by a name at a name server, in both families
// and over both transports.
func found(p, other *world.Pod, at netip.Addr, name string) error {
	return errors.Join(asked(p, at, name, dns.TypeA, other.V4().String()), asked(p, at, name, dns.TypeAAAA, other.V6().String()))
}

func asked(p *world.Pod, at netip.Addr, name string, kind uint16, want string) error {
	for _, network := range []string{"udp", "tcp"} {
		if said, err := world.Resolve(p, network, at, name, kind); err != nil || said != want {
			return fmt.Errorf("%s at %v over %s: %s, %w", name, at, network, said, err)
		}
	}
	return nil
}

// TestAsksHost: what an engine's container asks the host's name servers, the resolver at its gateway
// answers, whichever of its networks it asks through; what others ask there is left alone. It ends
// with the resolver, and the host's name servers are asked themselves.
func TestAsksHost(t *testing.T) {
	for _, setting := range []string{"bridge", "bridge nf", "routed", "overlay"} {
		t.Run(setting, func(t *testing.T) {
			mode, nf, _ := strings.Cut(setting, " ")
			var o agent.Options
			w := world.New(t, world.Answering(t, &o), world.NameServers(t, "127.0.0.53", world.Outside4.String(), world.Outside6.String(), "fe80::53"))
			if !w.BridgeNF(t, nf != "") {
				t.Skip("the kernel lacks br_netfilter")
			}
			n := w.Network(t, "net", mode)
			w.Network(t, "inner", mode, world.Internal)
			a, b := w.Engine(t, "a", "net", world.AsksHost), w.Engine(t, "b", "net")
			d := w.Engine(t, "d", "net", world.AsksHost)
			inner := w.HandOver(t, a.Netns, "inner", world.AsksHost, func(r *heddle.AttachRequest) { r.ID.Container = "a-inner" })
			a.Take(t, inner, "eth1")
			c := w.Engine(t, "c", "inner", world.AsksHost)
			cell.Must(t, w.SetNames(b.Endpoint.ID, "B", []string{"db"}))
			cell.Must(t, w.SetNames(c.Endpoint.ID, "c", nil))
			for _, at := range outside {
				world.Soon(t, "names are answered", func() error {
					return errors.Join(found(a, b, at, "b"), found(a, b, at, "db.net"), found(a, c, at, "c"), found(c, c, at, "c"))
				})
				for who, name := range map[*world.Pod]string{a: "nobody", c: "b"} {
					if err := asked(who, at, name, dns.TypeA, "NXDOMAIN"); err != nil {
						t.Error(err)
					}
				}
				if said, err := world.Resolve(b, "tcp", at, "b", dns.TypeA); err == nil {
					t.Errorf("who does not ask the host is told %s at %v", said, at)
				}
			}
			noticed(t, w, a)
			noticed(t, w, c)
			w.AuditEmpty(t)
			whole(t, w, a, b, c)

			// what is left of it when one of its networks goes
			cell.Must(t, w.LeaveNow(ctx, a.Endpoint.ID))
			for _, at := range outside {
				world.Soon(t, "the other network's names are found", func() error { return found(a, c, at, "c") })
			}
			w.AuditEmpty(t)

			w.Change(func(o *agent.Options) { o.Resolver = "" })
			w.Restart(t, nil)
			if is := w.Host.Sh(t, "nft list map inet heddle asks4; nft list map inet heddle asks6"); strings.Contains(is, "elements") {
				t.Errorf("without a resolver there is\n%s", is)
			}
			w.RouteToPods(t, n)
			w.Outside.Serve(t, 53, outside...)
			d.Gets(t, "outside", 53, outside...) // the name servers themselves answer now
			w.AuditEmpty(t)
			_, err := w.Detach(ctx, inner.Endpoint.ID)
			cell.Must(t, err)
			for _, addr := range inner.Endpoint.Addrs {
				cell.Must(t, w.Unlease(addr.Masked().String(), addr.Addr()))
			}
		})
	}
}

// TestLoopbackServers: an engine asks name servers on the host's loopback interface from the host
// itself, for which nothing can be done but to tell.
func TestLoopbackServers(t *testing.T) {
	var o agent.Options
	w := world.New(t, world.Answering(t, &o), world.NameServers(t, "127.0.0.1", "::1"))
	w.Network(t, "net", "bridge")
	a := w.Engine(t, "a", "net", world.AsksHost)
	if len(a.Endpoint.NameServers) > 0 {
		t.Errorf("the resolver is to answer in place of %v", a.Endpoint.NameServers)
	}
	world.Soon(t, "it is told", func() error {
		if said := w.Status().Part("names"); said.State != "warn" || !strings.Contains(said.Detail, "1 of Docker's endpoints") {
			return fmt.Errorf("%+v", said)
		}
		return nil
	})
}

// TestSetNames: the names of an endpoint that is there change whole or not at all, and hold after a
// restart; its engine gets it when it asks for it again.
func TestSetNames(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	ns := world.NewNetns(t, "a")
	reply := w.HandOver(t, ns, "net")
	id := reply.Endpoint.ID
	is := func(want ...string) {
		t.Helper()
		e, err := w.Agent.Endpoint(id)
		if got := append([]string{e.Name}, e.Aliases...); err != nil || !slices.Equal(got, want) {
			t.Errorf("it is called %v, not %v (%v)", got, want, err)
		}
		var listed []string
		world.Soon(t, "the table has the names", func() error {
			listed = nil
			for _, n := range w.Names() {
				listed = append(listed, n.Name)
			}
			slices.Sort(listed)
			if all := slices.DeleteFunc(slices.Sorted(slices.Values(want)), func(s string) bool { return s == "" }); !slices.Equal(listed, all) {
				return fmt.Errorf("%v", listed)
			}
			return nil
		})
	}
	cell.Must(t, w.SetNames(id, "Web", []string{"b", "a", "web"}))
	is("web", "a", "b")
	wantCode(t, w.SetNames(id, "no name", nil), heddle.BadDNSName)
	wantCode(t, w.SetNames(heddle.EndpointID{Container: "none", IfName: "eth"}, "web", nil), heddle.NoEndpoint)
	w.TripAt(func(step string) error {
		if step == "ledger names" {
			return errors.New("cut off")
		}
		return nil
	})
	if err := w.SetNames(id, "other", nil); err == nil {
		t.Error("named, though it was cut off")
	}
	w.TripAt(nil)
	is("web", "a", "b")
	w.Restart(t, nil)
	is("web", "a", "b")
	again, err := w.Attach(ctx, w.HandOverRequest(ns, reply))
	if err != nil || !again.Existed || again.Endpoint.Name != "web" {
		t.Errorf("asked again: %+v, %v", again, err)
	}
	cell.Must(t, w.SetNames(id, "", nil))
	is("")
	p := &world.Pod{Netns: ns, Endpoint: reply.Endpoint}
	_, err = w.Detach(ctx, p.Endpoint.ID)
	cell.Must(t, err)
	wantCode(t, w.SetNames(id, "web", nil), heddle.NoEndpoint)
	for _, addr := range reply.Endpoint.Addrs {
		cell.Must(t, w.Unlease(addr.Masked().String(), addr.Addr()))
	}
}
