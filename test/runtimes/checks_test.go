package runtimes_test

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/world"
)

// endpoint is one of the container's endpoints.
func (h *host) endpoint(container, ifname string) heddle.Endpoint {
	h.t.Helper()
	e, err := h.Endpoint(ctx, heddle.EndpointID{Container: container, IfName: ifname})
	if err != nil {
		h.t.Fatal(err)
	}
	return e
}

// addrs are an endpoint's addresses.
func addrs(e heddle.Endpoint) (all []netip.Addr) {
	for _, a := range e.Addrs {
		all = append(all, a.Addr())
	}
	return all
}

// netnsOf is the network namespace of a process.
func netnsOf(name string, pid string) world.Netns {
	return world.Netns{Name: name, Path: "/proc/" + pid + "/ns/net"}
}

// published checks that the server answers at the host's port over TCP and UDP:
// from the host, from outside, and from containers. On a LAN there are no such
// ports.
func (h *host) published(server string, port uint16, others ...world.Netns) {
	h.t.Helper()
	if h.wiring.onLAN {
		return
	}
	h.own.Gets(h.t, server, port, world.Host4, world.Host6, netip.MustParseAddr("127.0.0.1"))
	h.outside.Gets(h.t, server, port, world.Host4, world.Host6)
	for _, p := range others {
		p.Gets(h.t, server, port, world.Host4, world.Host6)
	}
}

// notPublished checks that nobody answers there.
func (h *host) notPublished(port uint16) {
	h.t.Helper()
	h.outside.GetsNothing(h.t, port, world.Host4, world.Host6)
}

// serves waits until the container's program has begun to listen.
func (h *host) serves(p world.Netns, port int) {
	h.t.Helper()
	world.Within(h.t, time.Minute, p.Name+" listens", func() error {
		out, err := p.TrySh("ss -Htuln 'sport = :%d'", port)
		if err == nil && len(strings.Split(out, "\n")) < 2 {
			err = fmt.Errorf("nobody at port %d: %s", port, out)
		}
		return err
	})
}
