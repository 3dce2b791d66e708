package world

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/poll"
)

// HandOver attaches a container as an engine does that moves links itself: it leases addresses
// from the network's subnets, and attaches with them.
func (w *World) HandOver(t testing.TB, in Netns, network string, options ...PodOption) heddle.AttachReply {
	t.Helper()
	n, err := w.Agent.Network(network)
	if err != nil {
		t.Fatal(err)
	}
	r := w.Request(in, network, options...)
	r.ID.IfName, r.Handover = "eth", true
	if len(r.IPs) == 0 {
		for _, s := range n.Subnets {
			addr, err := w.Lease(context.Background(), s.String(), netip.Addr{}, "")
			if err != nil {
				t.Fatalf("lease from %s: %v", s, err)
			}
			r.IPs = append(r.IPs, addr.Addr())
		}
	}
	if n.FromDHCP() {
		ahead, err := w.LeaseAhead(context.Background(), r)
		if err != nil {
			t.Fatalf("lease ahead for %s on %s: %v", in.Name, network, err)
		}
		r.IPs = []netip.Addr{ahead.Addrs[0].Addr()}
	}
	reply, err := w.Attach(context.Background(), r)
	if err != nil {
		t.Fatalf("hand over %s on %s: %v", in.Name, network, err)
	}
	return reply
}

// Take moves the link into the container as libnetwork does (osl.Namespace,
// AddInterface): moved, lowered, renamed, addressed, raised; connected routes with
// the interface, then those with a next hop, then the default.
func (n Netns) Take(t testing.TB, reply heddle.AttachReply, ifname string) {
	t.Helper()
	script := fmt.Sprintf("ip link set %[1]s netns %[2]s\nip -n %[2]s link set lo up\nip -n %[2]s link set %[1]s down\nip -n %[2]s link set %[1]s name %[3]s address %[4]s\n",
		reply.Source, n.Name, ifname, reply.Endpoint.MAC)
	in := "ip -n " + n.Name + " "
	for _, a := range reply.Endpoint.Addrs {
		script += in + "address add " + a.String() + " dev " + ifname + " " + nodad(a.Addr()) + "\n"
	}
	script += in + "link set " + ifname + " up\n"
	for _, r := range reply.Routes {
		if r.Via.IsValid() {
			script += in + "route add " + r.Dst.String() + " via " + r.Via.String() + "\n"
		} else {
			script += in + "route add " + r.Dst.String() + " dev " + ifname + " scope link\n"
		}
	}
	for _, g := range reply.Gateways {
		script += in + "route add " + heddle.FamilyOf(g).Any().String() + " via " + g.String() + " dev " + ifname + "\n"
	}
	Netns{}.Sh(t, "%s", script)
}

func nodad(a netip.Addr) string {
	if a.Is6() {
		return "nodad"
	}
	return ""
}

// Engine runs a container on a network as an engine does that moves links itself.
func (w *World) Engine(t testing.TB, name, network string, options ...PodOption) *Pod {
	t.Helper()
	p := &Pod{Netns: NewNetns(t, name), w: w}
	reply := w.HandOver(t, p.Netns, network, options...)
	p.Take(t, reply, "eth0")
	p.Endpoint = reply.Endpoint
	t.Cleanup(func() { p.Forget(t) })
	return p
}

// Forget detaches the container's endpoint and releases its leases.
func (p *Pod) Forget(t testing.TB) {
	t.Helper()
	p.leave(t, p.Endpoint.ID)
	for _, a := range p.Endpoint.Addrs {
		if err := p.w.Unlease(a.Masked().String(), a.Addr()); err != nil {
			t.Errorf("release %s: %v", a, err)
		}
	}
}

// HandOverRequest returns the request that HandOver made, to make it again.
func (w *World) HandOverRequest(in Netns, reply heddle.AttachReply) heddle.AttachRequest {
	r := w.Request(in, reply.Endpoint.NetworkName)
	r.ID, r.Handover = reply.Endpoint.ID, true
	for _, a := range reply.Endpoint.Addrs {
		r.IPs = append(r.IPs, a.Addr())
	}
	return r
}

// Noticed waits until the agent has seen that the engine has moved the link.
func (w *World) Noticed(id heddle.EndpointID, ifname string) error {
	_, err := poll.Until(Patience, 10*time.Millisecond, func() error {
		e, err := w.Agent.Endpoint(id)
		if err != nil || e.Inside == ifname {
			return poll.Final(err)
		}
		return fmt.Errorf("%s is %q inside, not %s", id, e.Inside, ifname)
	})
	return err
}

// CutAt makes all steps fail from the at-th on, as if the agent were gone. The function that it
// returns names that step; the name is empty if there were fewer steps.
func (w *World) CutAt(at int) (name func() string) {
	var mu sync.Mutex
	count, first := 0, ""
	w.TripAt(func(step string) error {
		mu.Lock()
		defer mu.Unlock()
		if count++; count < at {
			return nil
		}
		if first == "" {
			first = step
		}
		return fmt.Errorf("the agent is cut off at %s", step)
	})
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return first
	}
}
