package policy_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/ping"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// pings sends echoes from containers, by the agent: to a neighbour, with packets of the whole MTU, to one whose policy refuses them, to nobody
// and to the outside. What is said of the way is compared with what the fast path counts.
func pings(t *testing.T, w *world.World, n heddle.Network, shut, peer, other *world.Pod) {
	t.Helper()
	unused := make([]string, 2)
	for i, s := range n.Subnets {
		unused[i] = s.Addr().Next().Next().Next().Next().Next().Next().Next().Next().Next().String() // the ninth: three are given
	}
	for i, f := range []int{4, 6} {
		full := ping.Request{ID: other.Endpoint.ID, To: peer.Endpoint.ID.String(), Family: f, Count: 3, IntervalSeconds: 0.01, WaitSeconds: 5, FullSize: true}
		carried := local(t, w, other)
		p, all, s := send(t, w, full)
		if p.To != peer.Addrs()[i] || p.Endpoint != peer.Endpoint.ID || p.MTU != other.Endpoint.MTU || s.Received != 3 || all[0].From != p.To || all[0].TTL != 64 || all[0].RTTSeconds <= 0 ||
			all[0].Bytes != p.MTU-map[int]int{4: 20, 6: 40}[f] {
			t.Errorf("IPv%d in full size: %+v %+v %+v", f, p, all, s)
		}
		if fast := local(t, w, other)-carried >= 3; fast != (p.By == ping.FastPath) || !fast && p.By != ping.Bridge {
			t.Errorf("IPv%d: named is %q, and the fast path took the packets: %v", f, p.Text, fast)
		}
		other.Sh(t, "ip link set eth0 mtu %d", other.Endpoint.MTU-100)
		if p, all, s := send(t, w, full); p.MTU != other.Endpoint.MTU || s.Received != 0 || all[0].Outcome != ping.NotSent || all[0].Detail != "message too long" {
			t.Errorf("IPv%d through a link that carries less: %+v %+v %+v", f, p, all, s)
		}
		other.Sh(t, "ip link set eth0 mtu %d", other.Endpoint.MTU)
		if full.FullSize, full.Size = false, 4000; f == 4 {
			full.Count = 1
		}
		if p, _, s := send(t, w, full); p.By != ping.Bridge || s.Received != full.Count {
			t.Errorf("IPv%d in fragments: %+v %+v", f, p, s)
		}
		allowed := ping.Request{ID: shut.Endpoint.ID, To: peer.Addrs()[i].String(), Count: 1, IntervalSeconds: 1, WaitSeconds: 5, Size: 0}
		if p, _, s := send(t, w, allowed); p.By != ping.Bridge || s.Received != 1 {
			t.Errorf("IPv%d from one with a policy: %+v %+v", f, p, s)
		}
		refused := ping.Request{ID: other.Endpoint.ID, To: shut.Addrs()[i].String(), Count: 1, IntervalSeconds: 1, WaitSeconds: 0.1, Size: 56}
		_, all, s = send(t, w, refused)
		if advice := strings.Join(s.Advice, "; "); s.Received != 0 || all[0].Outcome != ping.Unanswered || !strings.Contains(advice, "ingress of shut/eth0: no rule of shut allows it") {
			t.Errorf("IPv%d to one whose policy refuses it: %+v %+v", f, all, s)
		}
		nobody := refused
		nobody.To = unused[i]
		if p, _, s := send(t, w, nobody); p.Where != ping.Nowhere || s.Received != 0 || !strings.Contains(strings.Join(s.Advice, "; "), "nobody has this address") {
			t.Errorf("IPv%d to nobody: %+v %+v", f, p, s)
		}
		outside := refused
		outside.WaitSeconds, outside.To = 5, map[int]string{4: world.Outside4.String(), 6: world.Outside6.String()}[f]
		if p, _, s := send(t, w, outside); p.Where != ping.Outside || p.Masqueraded != "yes" || s.Received != 1 {
			t.Errorf("IPv%d to the outside: %+v %+v", f, p, s)
		}
	}
}

// local counts what the fast path carried from a container to others of this host.
func local(t *testing.T, w *world.World, from *world.Pod) uint64 {
	t.Helper()
	e, err := w.Endpoint(from.Endpoint.ID)
	cell.Must(t, err)
	if e.Fast == nil {
		return 0
	}
	return e.Fast.Packets["local"]
}

func send(t *testing.T, w *world.World, q ping.Request) (p ping.Path, all []ping.Echo, s ping.Summary) {
	t.Helper()
	err := w.Ping(t.Context(), q, func(l ping.Line) error {
		switch {
		case l.Path != nil:
			p = *l.Path
		case l.Echo != nil:
			all = append(all, *l.Echo)
		case l.Summary != nil:
			s = *l.Summary
		}
		return nil
	})
	if err != nil {
		t.Errorf("ping from %s to %s: %v", q.ID, q.To, err)
	}
	if len(all) == 0 {
		all = make([]ping.Echo, 1)
	}
	return p, all, s
}

// pingsEnd: a ping lets go of a namespace whose container ends, and of one that is detached; from what is gone or was never there none begins.
func pingsEnd(t *testing.T, w *world.World, peer *world.Pod) {
	t.Helper()
	for name, end := range map[string]func(p *world.Pod){
		"dies":     func(p *world.Pod) { p.Delete() },
		"detached": func(p *world.Pod) { p.Leave(t) },
	} {
		p := w.Pod(t, name, "net")
		q := ping.Request{ID: p.Endpoint.ID, To: peer.V4().String(), Count: 1000, IntervalSeconds: 0.05, WaitSeconds: 0.5, Size: 56}
		began, told := time.Now(), 0
		err := w.Ping(t.Context(), q, func(l ping.Line) error {
			if told++; told == 3 {
				end(p)
			}
			return nil
		})
		wantCode(t, err, heddle.BadNamespace)
		if time.Since(began) > world.Patience {
			t.Errorf("%s: the ping went on for %s", name, time.Since(began))
		}
		if _, err := w.Host.TrySh("ip link show %s", p.Port()); err == nil {
			world.Soon(t, "the link goes with the container", func() error {
				_, err := w.Host.TrySh("! ip link show %s", p.Port())
				return err
			})
		}
		err = w.Ping(t.Context(), q, func(ping.Line) error { return nil })
		if !errors.Is(err, heddle.BadNamespace.Sentinel()) && !errors.Is(err, heddle.NoEndpoint.Sentinel()) {
			t.Errorf("%s: a ping from it: %v", name, err)
		}
		if name == "dies" {
			_, err := w.Detach(ctx, p.Endpoint.ID)
			cell.Must(t, err)
		}
	}
}
