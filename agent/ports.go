package agent

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// ports records which endpoint publishes which port of the host.
type ports struct {
	mu  rwMutex[atPorts]
	all portTable
	// listen fails if a program of the host listens on the port.
	listen func(heddle.PortMapping) error
}

func newPorts(listen func(heddle.PortMapping) error) *ports {
	return &ports{all: portTable{}, listen: listen}
}

// reserve reserves all the ports, and returns them: where the request leaves the host's port open,
// with a free one. If it can, that is one of earlier, which the endpoint had before. If another
// endpoint has one of the ports, it reserves none.
func (t *ports) reserve(id heddle.EndpointID, asked, earlier []heddle.PortMapping) ([]heddle.PortMapping, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all, err := t.choose(asked, earlier)
	if err == nil {
		err = t.all.reserve(id, all)
	}
	return all, err
}

func (t *ports) free(id heddle.EndpointID, all []heddle.PortMapping) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all.free(id, all)
}

// replace replaces an endpoint's ports by those that are asked for, as reserve does. If another
// endpoint has one of them, nothing changes.
func (t *ports) replace(id heddle.EndpointID, old, asked []heddle.PortMapping) ([]heddle.PortMapping, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all.free(id, old)
	next, err := t.choose(asked, old)
	if err == nil {
		err = t.all.reserve(id, next)
	}
	if err != nil {
		err = errors.Join(err, t.all.reserve(id, old))
	}
	return next, err
}

// on lists what is published on a mapping's protocol and host port, on any address of the
// host.
func (t *ports) on(p heddle.PortMapping) []published {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Clone(t.all[portKey(p)])
}

// portTable records which endpoint publishes which port, by protocol and port.
type portTable map[string][]published

// has reports whether a mapping collides with one of the table.
func (t portTable) has(p heddle.PortMapping) bool {
	return slices.ContainsFunc(t[portKey(p)], func(q published) bool { return collide(p, q.PortMapping) })
}

type published struct {
	heddle.PortMapping
	by heddle.EndpointID
}

func portKey(p heddle.PortMapping) string { return fmt.Sprintf("%s/%d", p.Protocol, p.HostPort) }

// reserve reserves all the ports. If another endpoint has one of them, it reserves none.
func (t portTable) reserve(id heddle.EndpointID, ports []heddle.PortMapping) error {
	for _, p := range ports {
		for _, q := range t[portKey(p)] {
			if q.by != id && collide(p, q.PortMapping) {
				return heddle.Errorf(heddle.PortTaken, "publish port", p.String(),
					"endpoint "+q.by.String()+" publishes it", "choose another host port")
			}
		}
	}
	for _, p := range ports {
		t[portKey(p)] = append(t[portKey(p)], published{p, id})
	}
	return nil
}

func (t portTable) free(id heddle.EndpointID, ports []heddle.PortMapping) {
	for _, p := range ports {
		left := slices.DeleteFunc(t[portKey(p)], func(q published) bool { return q.by == id })
		if t[portKey(p)] = left; len(left) == 0 {
			delete(t, portKey(p))
		}
	}
}

// collide reports whether two mappings want the same port of the host.
func collide(p, q heddle.PortMapping) bool {
	return p.Protocol == q.Protocol && p.HostPort == q.HostPort && shareAddress(p.HostIP, q.HostIP)
}

// shareAddress reports whether some address of the host is meant by both. An invalid one means all of
// both families, an unspecified one all of its family.
func shareAddress(a, b netip.Addr) bool {
	covers := func(a, b netip.Addr) bool { return heddle.PortMapping{HostIP: a}.IsAt(b) }
	return covers(a, b) || covers(b, a)
}

// socketAddress is the address of a socket as mappings have it: a socket on all addresses of IPv6
// takes those of IPv4 as well, unless it is for IPv6 alone.
func socketAddress(a netip.Addr, only6 bool) netip.Addr {
	if a == netip.IPv6Unspecified() && !only6 {
		return netip.Addr{}
	}
	return a.Unmap()
}
