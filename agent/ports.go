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
}

func newPorts() *ports { return &ports{all: portTable{}} }

// reserve reserves all the ports. If another endpoint has one of them, it reserves none.
func (t *ports) reserve(id heddle.EndpointID, all []heddle.PortMapping) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all.reserve(id, all)
}

func (t *ports) free(id heddle.EndpointID, all []heddle.PortMapping) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all.free(id, all)
}

// replace replaces an endpoint's ports by the next ones. If another endpoint has one of them,
// nothing changes.
func (t *ports) replace(id heddle.EndpointID, old, next []heddle.PortMapping) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all.free(id, old)
	err := t.all.reserve(id, next)
	if err != nil {
		err = errors.Join(err, t.all.reserve(id, old))
	}
	return err
}

// on lists what is published on a mapping's protocol and host port, on any address of the
// host.
func (t *ports) on(p heddle.PortMapping) []published {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Clone(t.all[portKey(p)])
}

// withHostPorts fills in free ports of the host where the request leaves them out.
func (t *ports) withHostPorts(wanted []heddle.PortMapping) ([]heddle.PortMapping, error) {
	all := slices.Clone(wanted)
	for i, p := range all {
		for try := 0; p.HostPort == 0 && try < maxPortTries; try++ {
			q := p
			var err error
			if q.HostPort, err = anyPort(p); err != nil {
				return nil, heddle.Wrap(heddle.BadAddress, "find a free host port for", p.String(), err,
					"name an address of this host, or the port")
			}
			if !t.published(q) && !slices.ContainsFunc(all, func(o heddle.PortMapping) bool { return collide(o, q) }) {
				all[i].HostPort, p.HostPort = q.HostPort, q.HostPort
			}
		}
	}
	return all, nil
}

// published reports whether an endpoint has a port that collides.
func (t *ports) published(p heddle.PortMapping) bool {
	return slices.ContainsFunc(t.on(p), func(q published) bool { return collide(p, q.PortMapping) })
}

// maxPortTries limits the search for a free port.
const maxPortTries = 32

// portTable records which endpoint publishes which port, by protocol and port.
type portTable map[string][]published

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
	covers := func(a, b netip.Addr) bool {
		return !a.IsValid() || a == b || a.IsUnspecified() && heddle.FamilyOf(a) == heddle.FamilyOf(b)
	}
	return p.Protocol == q.Protocol && p.HostPort == q.HostPort &&
		(covers(p.HostIP, q.HostIP) || covers(q.HostIP, p.HostIP))
}
