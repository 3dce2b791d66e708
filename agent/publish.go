package agent

import (
	"context"
	"errors"
	"net"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/events"
	"github.com/heddle-network/heddle/firewall"
)

// Publish gives an endpoint that is there other published ports than it has: all
// of them, none with an empty list. A mapping without a port of the host gets a
// free one. On an error the endpoint has the ports that it had.
func (a *Agent) Publish(ctx context.Context, id heddle.EndpointID, ports []heddle.PortMapping) (heddle.Endpoint, error) {
	if !a.ready.Load() {
		return heddle.Endpoint{}, heddle.Errorf(heddle.Stopping, "publish ports of", id.String(), "call again when the agent is back")
	}
	if err := ctx.Err(); err != nil {
		return heddle.Endpoint{}, heddle.Wrap(heddle.Waited, "publish ports of", id.String(), err, "call again")
	}
	if err := checkNumber(id, ports); err != nil {
		return heddle.Endpoint{}, err
	}
	defer a.ids.Lock(id)()
	defer a.work()()
	r, known := a.lookup(id)
	if !known || a.departing(id) {
		return heddle.Endpoint{}, noEndpoint(id)
	}
	n, err := a.networkFor(r.Endpoint)
	if err != nil {
		return heddle.Endpoint{}, err
	}
	if samePorts(r.Endpoint.Ports, ports) {
		return r.shown(), nil
	}
	if ports, err = a.chosen(ports); err != nil {
		return heddle.Endpoint{}, err
	}
	req := r.Request
	req.Ports = slices.DeleteFunc(slices.Clone(ports), func(p heddle.PortMapping) bool { return slices.Contains(r.Endpoint.Ports, p) })
	err = checkMappings(id, ports)
	if err == nil {
		err = checkPorts(n, req)
	}
	if err == nil {
		err = a.exchangePorts(id, r.Endpoint.Ports, ports)
	}
	if err != nil {
		return heddle.Endpoint{}, err
	}
	next := r
	next.Endpoint.Ports, next.Request.Ports = ports, ports
	if next, err = a.exchange(n, r, next); err != nil {
		return heddle.Endpoint{}, errors.Join(err, a.exchangePorts(id, ports, r.Endpoint.Ports))
	}
	a.forgetFlows(r.Endpoint, next.Endpoint)
	return next.shown(), nil
}

// samePorts reports whether an endpoint has just the ports asked for; one that may
// be any is any.
func samePorts(has, asked []heddle.PortMapping) bool {
	return slices.EqualFunc(has, asked, func(p, q heddle.PortMapping) bool {
		if q.HostPort == 0 {
			q.HostPort = p.HostPort
		}
		return p == q
	})
}

func (a *Agent) exchangePorts(id heddle.EndpointID, old, next []heddle.PortMapping) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ports.free(id, old)
	err := a.ports.reserve(id, next)
	if err != nil {
		err = errors.Join(err, a.ports.reserve(id, old))
	}
	return err
}

// exchange puts an endpoint's next record in the place of the old, and the kernel
// in line with it. What an agent that dies here leaves, the next one finds. The
// caller holds the endpoint's lock.
func (a *Agent) exchange(n *network, old, next record) (record, error) {
	var err error
	if next.Plan, err = a.plan(n, next.Endpoint); err != nil {
		return old, err
	}
	if err := a.step("ledger ports"); err != nil {
		return old, err
	}
	if err := a.ledger.putRecord(next); err != nil {
		return old, err
	}
	a.swap(old, next)
	add, gone := heddle.Delta(old.Plan.Host, next.Plan.Host)
	defer a.sharing(record{Endpoint: next.Endpoint, Plan: heddle.Plan{Host: heddle.Append(old.Plan.Host, next.Plan.Host)}})()
	if _, err = a.kernel.Apply(heddle.Plan{Host: add}, nil); err == nil {
		err = a.kernel.Remove(heddle.Plan{Host: gone}, nil, a.isWanted)
	}
	if err != nil {
		a.swap(next, old)
		return old, errors.Join(err, a.ledger.putRecord(old), a.kernel.Remove(heddle.Plan{Host: add}, nil, a.isWanted))
	}
	a.tellEndpoint(events.Updated, next.Endpoint)
	return next, nil
}

// upToDate is the record with all that the endpoint's guard and its published ports need:
// one that an older agent wrote lacks some.
func (a *Agent) upToDate(r record) record {
	n, err := a.networkFor(r.Endpoint)
	if err != nil {
		return r
	}
	now, err := a.plan(n, r.Endpoint)
	if err != nil {
		return r
	}
	add, _ := heddle.Delta(r.Plan.Host, now.Host)
	r.Plan.Host = heddle.Append(r.Plan.Host, add.Filter(func(o heddle.Object) bool {
		switch o := o.(type) {
		case heddle.Sysctl:
			_, is := o.IsLoopbackWay()
			return is
		case heddle.Element:
			return o.Set == firewall.SetTaken || o.Set == firewall.SetQuoted4 || o.Set == firewall.SetQuoted6
		}
		return false
	}))
	return r
}

// swap replaces an endpoint's record in memory.
func (a *Agent) swap(old, next record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.counted[old.Endpoint.ID] {
		a.wanted.add(next.Plan.Host)
		a.wanted.remove(old.Plan.Host)
	}
	a.endpoints[old.Endpoint.ID] = next
}

// portTries bounds the search for a port that nobody has.
const portTries = 32

// chosen fills in the ports of the host that are left open.
func (a *Agent) chosen(ports []heddle.PortMapping) ([]heddle.PortMapping, error) {
	all := slices.Clone(ports)
	for i, p := range all {
		for try := 0; p.HostPort == 0 && try < portTries; try++ {
			q := p
			var err error
			if q.HostPort, err = anyPort(p); err != nil {
				return nil, heddle.Wrap(heddle.BadAddress, "find a free port for", p.String(), err, "name an address of this host, or the port")
			}
			if !a.isPublished(q) && !slices.ContainsFunc(all, func(o heddle.PortMapping) bool { return collide(o, q) }) {
				all[i].HostPort, p.HostPort = q.HostPort, q.HostPort
			}
		}
	}
	return all, nil
}

func (a *Agent) isPublished(p heddle.PortMapping) bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return slices.ContainsFunc(a.ports[portKey(p)], func(q published) bool { return collide(p, q.PortMapping) })
}

// anyPort asks the kernel for a port on which nobody listens.
func anyPort(p heddle.PortMapping) (uint16, error) {
	p.HostPort = 0
	network, address := listenOn(p)
	if p.Protocol == "udp" {
		c, err := net.ListenPacket(network, address)
		if err != nil {
			return 0, err
		}
		defer c.Close()
		return uint16(c.LocalAddr().(*net.UDPAddr).Port), nil
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return uint16(l.Addr().(*net.TCPAddr).Port), nil
}
