// Package handover_test plays the engine that moves links into containers itself,
// as Docker does: it asks for an endpoint, takes the link, and tells nobody. What
// it says to the agent and does to the kernel is libnetwork's order of things.
package handover_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

var ctx = context.Background()

func wantCode(t *testing.T, err error, code heddle.Code) {
	t.Helper()
	if !errors.Is(err, code.Sentinel()) {
		t.Errorf("got error %v, want %s", err, code)
	}
}

// modes are those in which a link is made for the container.
var modes = map[string][]world.NetworkOption{
	"bridge": nil, "routed": {world.With("masquerade=true")}, "overlay": nil, "macvlan": {onLAN},
}

func onLAN(n *heddle.Network) {
	n.Subnets = nil
	n.Ranges = []netip.Prefix{netip.MustParsePrefix("192.0.2.128/25"), netip.MustParsePrefix("2001:db8::1:0/112")}
}

func each(t *testing.T, test func(t *testing.T, w *world.World, mode string)) {
	for _, mode := range soak.OneOf(t, slices.Sorted(maps.Keys(modes))...) {
		t.Run(mode, func(t *testing.T) {
			w := world.New(t)
			w.Network(t, "net", mode, modes[mode]...)
			test(t, w, mode)
		})
	}
}

var outside = []netip.Addr{world.Outside4, world.Outside6}

// noticed waits until the agent has seen where the link went.
func noticed(t *testing.T, w *world.World, p *world.Pod) {
	t.Helper()
	world.Soon(t, "the agent notices where the link is", func() error {
		e, err := w.Agent.Endpoint(p.Endpoint.ID)
		if err == nil && e.Inside != "eth0" {
			err = errors.New("it has not")
		}
		return err
	})
}

// reaches looks at what a container of an engine has to have.
func reaches(t *testing.T, w *world.World, a, b *world.Pod) {
	t.Helper()
	a.Reaches(t, b.Addrs()...)
	b.Reaches(t, a.Addrs()...)
	a.Reaches(t, outside...)
	w.Host.Reaches(t, a.Addrs()...)
}

// TestTaken: a container reaches all from the moment the engine is ready, whether
// the agent lives or not; it is known where its interface is; nothing is left when
// it goes.
func TestTaken(t *testing.T) {
	each(t, func(t *testing.T, w *world.World, mode string) {
		a, b := w.Engine(t, "a", "net"), w.Engine(t, "b", "net")
		reaches(t, w, a, b)
		noticed(t, w, a)
		w.AuditEmpty(t)
		whole(t, w, a, b)

		var c *world.Pod
		ns := world.NewNetns(t, "c")
		reply := w.HandOver(t, ns, "net")
		w.Restart(t, func() {
			c = &world.Pod{Netns: ns, Endpoint: reply.Endpoint}
			c.Take(t, reply, "eth0")
			reaches(t, w, a, c)
		})
		if e, err := w.Agent.Endpoint(reply.Endpoint.ID); err != nil || e.Inside != "eth0" {
			t.Errorf("an agent that starts finds %+v (%v)", e, err)
		}
		reaches(t, w, c, b)
		w.AuditEmpty(t)
		whole(t, w, a, b, c)
		again, err := w.Attach(ctx, w.HandOverRequest(ns, reply))
		if err != nil || !again.Existed || again.Source != reply.Source || len(again.Routes) != len(reply.Routes) {
			t.Errorf("asked again: %+v, %v", again, err)
		}
		gone(t, w, c)
	})
}

// TestNoticed: what an endpoint has on the host was made when it was offered, and is
// not made again when its engine has taken it. It may be once, for a comparison that
// was under way while it was made.
func TestNoticed(t *testing.T) {
	each(t, func(t *testing.T, w *world.World, mode string) {
		var again []string
		for try := range 4 {
			if again = remade(t, w, world.NewNetns(t, fmt.Sprintf("a%d", try))); len(again) == 0 {
				return
			}
		}
		t.Errorf("made again: %v", again)
	})
}

// remade hands an endpoint over, and lists the steps that are made on its host's end
// until the agent knows that it is taken.
func remade(t *testing.T, w *world.World, ns world.Netns) (again []string) {
	t.Helper()
	reply := w.HandOver(t, ns, "net")
	var mu sync.Mutex
	steps := 0
	w.TripAt(func(step string) error {
		mu.Lock()
		defer mu.Unlock()
		if steps++; strings.Contains(step, reply.Endpoint.ID.PortName()) {
			again = append(again, step)
		}
		return nil
	})
	p := &world.Pod{Netns: ns, Endpoint: reply.Endpoint}
	p.Take(t, reply, "eth0")
	noticed(t, w, p)
	w.TripAt(nil)
	mu.Lock()
	defer mu.Unlock()
	if steps == 0 {
		t.Error("the agent does not count its steps")
	}
	gone(t, w, p)
	return slices.Clone(again)
}

func whole(t *testing.T, w *world.World, pods ...*world.Pod) {
	t.Helper()
	for _, p := range pods {
		found, err := w.Check(p.Endpoint.ID)
		if err != nil || len(found) > 0 {
			t.Errorf("check of %s: %+v, %v", p.Name, found, err)
		}
	}
}

// gone detaches an endpoint: its link goes wherever it is, its lease stays.
func gone(t *testing.T, w *world.World, p *world.Pod) {
	t.Helper()
	_, err := w.Detach(ctx, p.Endpoint.ID)
	cell.Must(t, err)
	if out := p.Sh(t, "ip -br link show dev eth0 2>/dev/null || true"); out != "" {
		t.Errorf("the container still has %s", out)
	}
	w.AuditEmpty(t)
	for _, a := range p.Endpoint.Addrs {
		leased := false
		for _, l := range w.Leases() {
			leased = leased || l.Addr == a
		}
		if !leased {
			t.Errorf("%s is not leased any more", a)
		}
		cell.Must(t, w.Unlease(a.Masked().String(), a.Addr()))
		cell.Must(t, w.Unlease(a.Masked().String(), a.Addr()))
	}
}

// TestLeft: the container is cut off when its engine lets go of an endpoint. Whatever
// lives there keeps the interface under its name, until the engine has done with it.
func TestLeft(t *testing.T) {
	each(t, func(t *testing.T, w *world.World, mode string) {
		a, b := w.Engine(t, "a", "net"), w.Engine(t, "b", "net")
		inhabit(t, "a")
		reaches(t, w, a, b)
		for _, p := range []*world.Pod{a, b} {
			noticed(t, w, p)
			cell.Must(t, w.Agent.Leave(ctx, p.Endpoint.ID))
			cell.Must(t, w.Agent.Leave(ctx, p.Endpoint.ID))
			out, err := p.TrySh("ip -o link show dev eth0")
			if lives := p == a; (err == nil) != lives || strings.Contains(out, ",UP") {
				t.Errorf("its engine lets go of %s, a process is there: %t: %s %v", p.Name, lives, out, err)
			}
			cell.Must(t, w.Agent.LeaveNow(ctx, p.Endpoint.ID))
			world.Soon(t, "the endpoint is gone", func() error {
				if e, err := w.Agent.Endpoint(p.Endpoint.ID); err == nil {
					return errors.New(e.ID.String())
				}
				return nil
			})
		}
		w.AuditEmpty(t)
	})
}

// inhabit has a process in a namespace until the test ends.
func inhabit(t *testing.T, namespace string) {
	t.Helper()
	lives := exec.Command("ip", "netns", "exec", namespace, "sh", "-c", "echo; exec sleep 600")
	out, err := lives.StdoutPipe()
	cell.Must(t, err)
	cell.Must(t, lives.Start())
	t.Cleanup(func() { lives.Process.Kill(); lives.Wait() })
	_, err = out.Read(make([]byte, 1))
	cell.Must(t, err)
}

// TestNoIPv6: a container whose IPv6 is switched off has what is left, on a network of
// both families.
func TestNoIPv6(t *testing.T) {
	each(t, func(t *testing.T, w *world.World, mode string) {
		ns := world.NewNetns(t, "a")
		ns.Sh(t, "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1")
		reply := w.HandOver(t, ns, "net")
		a, v4 := &world.Pod{Netns: ns, Endpoint: reply.Endpoint}, reply
		v4.Endpoint.Addrs = slices.DeleteFunc(slices.Clone(reply.Endpoint.Addrs), func(p netip.Prefix) bool { return p.Addr().Is6() })
		v4.Routes = slices.DeleteFunc(slices.Clone(reply.Routes), func(r heddle.Route) bool { return r.Dst.Addr().Is6() })
		v4.Gateways = slices.DeleteFunc(slices.Clone(reply.Gateways), netip.Addr.Is6)
		a.Take(t, v4, "eth0")
		noticed(t, w, a)
		a.Reaches(t, world.Outside4)
		w.AuditEmpty(t)
		whole(t, w, a)
		gone(t, w, a)
	})
}

// TestBrought: an engine that disconnects a container without us brings the link
// back to the host; one that never takes it leaves it there.
func TestBrought(t *testing.T) {
	each(t, func(t *testing.T, w *world.World, mode string) {
		a := w.Engine(t, "a", "net")
		noticed(t, w, a)
		a.Sh(t, "ip link set eth0 down; ip link set eth0 name back")
		world.Netns{}.Sh(t, "ip -n a link set back netns %d; ip link set back name %s", os.Getpid(), a.Endpoint.ID.HandName())
		gone(t, w, a)

		ns := world.NewNetns(t, "b")
		reply := w.HandOver(t, ns, "net")
		b := &world.Pod{Netns: ns, Endpoint: reply.Endpoint}
		w.AuditEmpty(t)
		gone(t, w, b) // offered, and never taken
	})
}

// TestVanished: what an engine does not say is found by looking: a container that
// died, and a link that is back on the host. Their addresses can be had again; what
// lives stays, were it in a namespace whose path cannot be opened.
func TestVanished(t *testing.T) {
	each(t, func(t *testing.T, w *world.World, mode string) {
		a, b := w.Engine(t, "a", "net"), w.Engine(t, "b", "net")
		ns := world.NewNetns(t, "c")
		reply := w.HandOver(t, ns, "net")
		offered := w.HandOver(t, world.NewNetns(t, "d"), "net")
		c := &world.Pod{Netns: ns, Endpoint: reply.Endpoint}
		c.Take(t, reply, "eth0")
		for _, p := range []*world.Pod{a, b, c} {
			noticed(t, w, p)
		}
		world.Netns{}.Sh(t, "touch /run/netns/unseen; mount --bind /run/netns/a /run/netns/unseen; umount -l /run/netns/a")
		b.Sh(t, "ip link set eth0 down; ip link set eth0 name back")
		world.Netns{}.Sh(t, "ip -n b link set back netns %d; ip link set back name %s", os.Getpid(), b.Endpoint.ID.HandName())
		ns.Delete()
		world.Within(t, 20*world.Patience, "only what lives is left", func() error {
			for _, e := range w.Endpoints() {
				if e.ID != a.Endpoint.ID && e.ID != offered.Endpoint.ID {
					return errors.New(e.ID.String())
				}
			}
			return nil
		})
		world.Netns{}.Sh(t, "mount --bind /run/netns/unseen /run/netns/a; umount -l /run/netns/unseen; rm /run/netns/unseen")
		w.AuditEmpty(t)
		ns = world.NewNetns(t, "e")
		q := w.HandOverRequest(ns, reply)
		q.ID.Container = "e"
		again, err := w.Attach(ctx, q)
		cell.Must(t, err)
		e := &world.Pod{Netns: ns, Endpoint: again.Endpoint}
		e.Take(t, again, "eth0")
		reaches(t, w, a, e)
		for _, id := range []heddle.EndpointID{offered.Endpoint.ID, e.Endpoint.ID} {
			found, err := w.Detach(ctx, id)
			if err != nil || !found {
				t.Errorf("detach %s: %v, %v", id, found, err)
			}
		}
		w.AuditEmpty(t)
	})
}

// TestDrift: what somebody takes away of an endpoint's host side is put back.
func TestDrift(t *testing.T) {
	each(t, func(t *testing.T, w *world.World, mode string) {
		if mode == "macvlan" {
			t.Skip("nothing of a macvlan container is on the host but a route, which TestMacvlan looks after")
		}
		a, b := w.Engine(t, "a", "net"), w.Engine(t, "b", "net")
		noticed(t, w, a)
		cell.Sh(t, "nft flush ruleset; ip -6 neigh flush nud permanent; ip neigh flush nud permanent")
		world.Within(t, 20*world.Patience, "the firewall is back", func() error {
			found, err := w.Audit()
			if err == nil && len(found) > 0 {
				err = errors.New(found[0].Object)
			}
			return err
		})
		reaches(t, w, a, b)
	})
}

// TestRefused: what an engine cannot have.
func TestRefused(t *testing.T) {
	w := world.New(t)
	_, _, err := w.CreateNetwork(heddle.Network{Name: "stack", Mode: "host"}, false)
	cell.Must(t, err)
	ns := world.NewNetns(t, "a")
	q := w.Request(ns, "stack")
	q.Handover = true
	_, err = w.Attach(ctx, q)
	wantCode(t, err, heddle.BadOption)
	w.Network(t, "net", "bridge")
	for _, change := range []world.PodOption{
		func(r *heddle.AttachRequest) { r.LinkOnly = true },
		func(r *heddle.AttachRequest) { r.LinkOnly, r.Handover, r.Netns = true, true, "" },
	} {
		_, err := w.Attach(ctx, w.Request(ns, "net", change))
		wantCode(t, err, heddle.BadArgument)
	}
	reply := w.HandOver(t, ns, "net")
	q = w.HandOverRequest(ns, reply)
	q.ID.Container = "other"
	_, err = w.Attach(ctx, q)
	wantCode(t, err, heddle.AddressTaken)
	w.AuditEmpty(t)
}

// TestPublished: ports come and go while the container runs, across a restart.
func TestPublished(t *testing.T) {
	for _, mode := range []string{"bridge", "routed", "overlay"} {
		t.Run(mode, func(t *testing.T) {
			w := world.New(t)
			w.Network(t, "net", mode)
			a := w.Engine(t, "a", "net")
			a.Serve(t, 80, a.Addrs()...)
			e, err := w.Publish(ctx, a.Endpoint.ID, []heddle.PortMapping{world.Mapping("8080:80/tcp"), {ContainerPort: 80, Protocol: "udp"}})
			cell.Must(t, err)
			if len(e.Ports) != 2 || e.Ports[1].HostPort == 0 {
				t.Fatalf("published: %v", e.Ports)
			}
			w.Restart(t, nil)
			for _, at := range []netip.Addr{world.Host4, world.Host6} {
				for i, proto := range []string{"tcp", "udp"} {
					if got, err := w.Outside.Ask(proto, netip.AddrPortFrom(at, e.Ports[i].HostPort)); err != nil || got.Server != "a" {
						t.Errorf("%s answers %+v, %v", at, got, err)
					}
				}
			}
			w.AuditEmpty(t)
			b := w.Engine(t, "b", "net")
			_, err = w.Publish(ctx, b.Endpoint.ID, []heddle.PortMapping{world.Mapping("8080:80/tcp")})
			wantCode(t, err, heddle.PortTaken)
			cell.Must(t, func() error { _, err := w.Publish(ctx, a.Endpoint.ID, nil); return err }())
			cell.Must(t, func() error {
				_, err := w.Publish(ctx, b.Endpoint.ID, []heddle.PortMapping{world.Mapping("8080:80/tcp")})
				return err
			}())
			b.Forget(t)
			w.AuditEmpty(t)
		})
	}
}
