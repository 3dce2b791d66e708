package fleet_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/world"
)

// pod is a container of a host.
type pod struct {
	world.Netns
	on *host
	heddle.Endpoint
}

// attach makes a namespace on the host and attaches it.
func (h *host) attach(t testing.TB, name, network string, options ...world.PodOption) *pod {
	t.Helper()
	p, err := h.tryAttach(name, network, options...)
	if err != nil {
		t.Fatalf("attach %s on %s: %v\n%s", name, h.Host.Name, err, h.log())
	}
	return p
}

func (h *host) tryAttach(name, network string, options ...world.PodOption) (*pod, error) {
	ns := world.Netns{Name: name, Path: fmt.Sprintf("/proc/%d/root/run/netns/%s", h.Pid, name)}
	if _, err := os.Stat(ns.Path); err != nil {
		cmd, err := h.Command(context.Background(), "ip", "netns", "add", name)
		if err != nil {
			return nil, err
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("ip netns add %s: %w: %s", name, err, out)
		}
	}
	q := heddle.AttachRequest{Network: network, ID: heddle.EndpointID{Container: name, IfName: "eth0"}, Netns: "/run/netns/" + name}
	for _, o := range options {
		o(&q)
	}
	r, err := h.Attach(context.Background(), q)
	return &pod{ns, h, r.Endpoint}, err
}

// onePod attaches a container on each host: p1, p2, …
func (f *fleet) onePod(t testing.TB, network string) (pods []*pod) {
	t.Helper()
	for i, h := range f.hosts {
		pods = append(pods, h.attach(t, fmt.Sprint("p", i+1), network))
	}
	return pods
}

// meet has each of the pods find every one.
func meet(t testing.TB, pods []*pod) {
	t.Helper()
	for _, a := range pods {
		for _, b := range pods {
			a.finds(t, b.addrs()...)
		}
	}
}

// finds has the container reach addresses for the first time: the hosts hear of each
// other's blocks a moment after an attach, and have no route until then.
func (p *pod) finds(t testing.TB, to ...netip.Addr) {
	t.Helper()
	for _, a := range to {
		world.Within(t, time.Minute, p.Netns.Name+" reaches "+a.String(), func() error { return p.Ping(a, "-W1") })
	}
}

// deleted has the host delete a network that nobody is on: containers of other hosts
// may have left it a moment ago, and their hosts have to agree.
func (h *host) deleted(t testing.TB, network string) {
	t.Helper()
	world.Within(t, time.Minute, h.Host.Name+" deletes network "+network, func() error {
		out, err := h.tryCLI(t, "network", "delete", network)
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	})
}

func (p *pod) detach(t testing.TB) {
	t.Helper()
	if _, err := p.on.Detach(context.Background(), p.ID); err != nil {
		t.Fatalf("detach %s: %v", p.ID, err)
	}
}

func (p *pod) addrs() (all []netip.Addr) {
	for _, a := range p.Addrs {
		all = append(all, a.Addr())
	}
	return all
}
