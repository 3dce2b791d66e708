package machines_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/docker"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// plugMoves: a container's NIC moves to the other machine and back, with its addresses, its MAC address and its port.
func plugMoves(t *testing.T, p *plugged, _ int) {
	e := p.attach(t, "o1", "fast")
	port := p.ports(t)[0]
	p.refuseMoves(t)
	from, to := p.vm, p.other
	var dark []time.Duration
	rounds := 1
	if soak.On() {
		rounds = 20
	}
	for range rounds {
		from.Heddle(t, "endpoint", "move", "o1", "--to", to.Name())
		p.reach(t, e) // until the other machine takes it
		dark = append(dark, p.take(t, from, to))
		p.reach(t, e)
		if got := p.ports(t); len(got) != 1 || got[0].MAC != port.MAC || got[0].Port != port.Port || got[0].Endpoint != port.Endpoint || got[0].Machine != to.Name() {
			t.Fatalf("the port was %+v, and is %+v", port, got)
		}
		p.ends(t, from, "o1")
		from, to = to, from
	}
	slices.Sort(dark)
	t.Logf("%d moves: no container had the NIC for %v at the median, %v at most", len(dark), dark[len(dark)/2], dark[len(dark)-1])
	p.letGo(t, from, to, e)
	from, to = to, from
	from, to = p.disturbTaker(t, from, to, e, "its agent is killed", func(_, to *docker.Host) {
		to.KillAgent(t)
		to.StartAgent(t)
	})
	p.disturbTaker(t, from, to, e, "it is called back", func(from, _ *docker.Host) {
		from.TryHeddle(t, "endpoint", "move", "o1", "--cancel")
	})
	p.vm.TryRun("ip", "netns", "delete", "o1")
	p.other.TryRun("ip", "netns", "delete", "o1")
	p.vm.TryHeddle(t, "detach", "o1")
	p.other.TryHeddle(t, "detach", "o1")
	p.clean(t)
}

// refuseMoves: nobody takes what is not permitted to him.
func (p *plugged) refuseMoves(t *testing.T) {
	t.Helper()
	p.other.Run(t, "ip", "netns", "add", "o1")
	refused := func(h *docker.Host, cause, command string) {
		t.Helper()
		out, err := h.TryHeddle(t, strings.Fields(command)...)
		if err == nil || !strings.Contains(out, cause) {
			t.Errorf("%s: %v, %s", command, err, out)
		}
	}
	take := "attach fast --netns /run/netns/o1 --id o1 --move-from vm1"
	refused(p.other, string(heddle.NICNotGranted), take)
	refused(p.vm, "no machine vm3", "endpoint move o1 --to vm3")
	refused(p.vm, "it is that machine's already", "endpoint move o1 --to vm1")
	p.vm.Heddle(t, "endpoint", "move", "o1", "--to", "vm2")
	if got := p.vm.Heddle(t, "endpoint", "show", "o1"); !strings.Contains(got, "machine vm2 may take it over") {
		t.Errorf("the endpoint is shown as:\n%s", got)
	}
	refused(p.other, "leave --mac and --ip out", take+" --ip 10.70.0.9")
	refused(p.other, string(heddle.NICNotGranted), "attach fast --netns /run/netns/o1 --id o2 --move-from vm1")
	p.vm.Heddle(t, "endpoint", "move", "o1", "--cancel")
	refused(p.other, string(heddle.NICNotGranted), take)
	cell.Must(t, p.ping("o1", "10.70.0.200"))
	p.other.Heddle(t, "audit")
	p.vm.Heddle(t, "audit")
}

// take has a machine take the NIC over, and returns how long no container had it.
func (p *plugged) take(t *testing.T, from, to *docker.Host) time.Duration {
	t.Helper()
	to.TryRun("ip", "netns", "add", "o1")
	r, err := to.Client.Attach(t.Context(), heddle.AttachRequest{Network: "fast", ID: heddle.EndpointID{Container: "o1", IfName: "eth0"},
		Netns: "/run/netns/o1", MoveFrom: from.Name()})
	cell.Must(t, err)
	if r.Dark <= 0 {
		t.Errorf("the answer is %+v", r)
	}
	return r.Dark
}

// reach asks whether a container beside reaches the endpoint, by both families.
func (p *plugged) reach(t *testing.T, e heddle.Endpoint) {
	t.Helper()
	for _, a := range e.Addrs {
		p.hv.Run(t, "ip", "netns", "exec", "beside", "ping", "-n", "-c1", "-W5", a.Addr().String())
	}
}

// ends waits until a machine has no endpoint of that ID any more, and nothing to complain of.
func (p *plugged) ends(t *testing.T, h *docker.Host, id string) {
	t.Helper()
	world.Within(t, 3*world.Patience, "the endpoint ends on "+h.Name(), func() error {
		if out, err := h.TryHeddle(t, "endpoint", "show", id); err == nil {
			return fmt.Errorf("it is there:\n%s", out)
		}
		return nil
	})
	h.Heddle(t, "audit")
}

// letGo: the first container ends before the NIC is taken over. Its port waits.
func (p *plugged) letGo(t *testing.T, from, to *docker.Host, e heddle.Endpoint) {
	t.Helper()
	from.Heddle(t, "endpoint", "move", "o1", "--to", to.Name())
	from.Heddle(t, "detach", "o1")
	from.Heddle(t, "audit")
	t.Logf("taken over from a container that has ended; after %v it answers", p.take(t, from, to))
	p.reach(t, e)
}

// disturbTaker disturbs the machine that takes a NIC over, in the middle. One of both machines has the NIC afterwards, and its container
// answers. It returns the machine that has it, and the other one.
func (p *plugged) disturbTaker(t *testing.T, from, to *docker.Host, e heddle.Endpoint, what string, disturb func(from, to *docker.Host)) (has, other *docker.Host) {
	t.Helper()
	random, rounds := rand.New(rand.NewPCG(1, 0)), 1
	if soak.On() {
		rounds = 20
	}
	for range rounds {
		from.Heddle(t, "endpoint", "move", "o1", "--to", to.Name())
		after := time.Duration(random.IntN(1200)) * time.Millisecond
		done := make(chan error, 1)
		go func() {
			_, err := to.TryHeddle(t, "attach", "fast", "--netns", "/run/netns/o1", "--id", "o1", "--move-from", from.Name())
			done <- err
		}()
		time.Sleep(after)
		disturb(from, to)
		err := <-done
		world.Within(t, 3*world.Patience, "one machine has the endpoint, and it answers", func() error {
			_, one := to.TryHeddle(t, "endpoint", "show", "o1")
			_, two := from.TryHeddle(t, "endpoint", "show", "o1")
			if (one == nil) == (two == nil) {
				return fmt.Errorf("on %s: %v; on %s: %v", to.Name(), one, from.Name(), two)
			}
			if has, other = to, from; one != nil {
				has, other = from, to
			}
			out, err := p.hv.TryRun("ip", "netns", "exec", "beside", "ping", "-n", "-c1", "-W5", e.Addrs[0].Addr().String())
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		})
		if t.Failed() {
			t.FailNow()
		}
		t.Logf("%s takes the NIC over, and after %v %s; it answered %v; %s has the NIC", to.Name(), after, what, err, has.Name())
		p.reach(t, e)
		if has == from {
			from.Heddle(t, "endpoint", "move", "o1", "--cancel")
		}
		p.vm.Heddle(t, "audit")
		p.other.Heddle(t, "audit")
		from, to = has, other
	}
	return has, other
}
