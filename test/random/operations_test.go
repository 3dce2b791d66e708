package random_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
)

// refusable reports whether the model knows why an attach was refused.
func (w *world) refusable(req heddle.AttachRequest, err error) bool {
	_, network := w.networks[req.Network]
	_, known := w.endpoints[req.ID]
	switch {
	case heddle.NoNetwork.In(err) != nil:
		return !network
	case heddle.EndpointDiffers.In(err) != nil:
		return known
	case heddle.AddressTaken.In(err) != nil:
		return w.has(func(e heddle.Endpoint) bool {
			return slices.ContainsFunc(e.Addrs, func(p netip.Prefix) bool { return slices.Contains(req.IPs, p.Addr()) })
		})
	case heddle.PortTaken.In(err) != nil:
		return w.has(func(e heddle.Endpoint) bool {
			return slices.ContainsFunc(e.Ports, func(p heddle.PortMapping) bool { return p.HostPort == req.Ports[0].HostPort })
		})
	case heddle.PoolExhausted.In(err) != nil:
		return network
	}
	// two endpoints of a container on one network
	return heddle.RoutesClash.In(err) != nil && w.has(func(e heddle.Endpoint) bool { return e.ID.Container == req.ID.Container && e.ID != req.ID })
}

// accept compares an answer to an attach with the model.
func (w *world) accept(req heddle.AttachRequest, reply heddle.AttachReply, err error) {
	w.t.Helper()
	if err == nil {
		w.must(w.attached(req, reply.Endpoint))
		return
	}
	w.done.refused.Add(1)
	if !w.refusable(req, err) {
		w.t.Fatalf("attach %+v: %v", req, err)
	}
	// what was there may have had to go for it
	if _, known := w.endpoints[req.ID]; known && w.lost[req.ID] {
		w.look(req.ID)
	}
}

// look takes over whether an endpoint is there: either was right.
func (w *world) look(id heddle.EndpointID) {
	e, err := w.life.Endpoint(id)
	before, known := w.endpoints[id]
	switch {
	case err != nil:
		w.detached(id)
	case known && !slices.Equal(before.Addrs, e.Addrs):
		w.t.Fatalf("%s had %v and has %v", id, before.Addrs, e.Addrs)
	}
}

func (w *world) attach() { w.ask(w.request()) }

func (w *world) ask(req heddle.AttachRequest) {
	reply, err := w.life.Attach(context.Background(), req)
	w.accept(req, reply, err)
}

// again asks for what is there.
func (w *world) again() {
	id, any := w.one()
	if !any {
		return
	}
	e, over := w.endpoints[id], w.lost[id]
	req := heddle.AttachRequest{ID: id, Network: e.NetworkName, Netns: e.Netns, Ports: e.Ports}
	reply, err := w.life.Attach(context.Background(), req)
	w.accept(req, reply, err)
	if err == nil && !over && (!reply.Existed || !slices.Equal(reply.Endpoint.Addrs, e.Addrs)) {
		w.t.Fatalf("%s was there with %v, and is made anew with %v", id, e.Addrs, reply.Endpoint.Addrs)
	}
}

func (w *world) dryRun() {
	req := w.request()
	req.DryRun = true
	_, _ = w.life.Attach(context.Background(), req) // what it leaves is compared
}

func (w *world) detach() {
	if id, any := w.one(); any {
		w.leave(id)
	}
}

func (w *world) leave(id heddle.EndpointID) {
	found, err := w.life.Detach(context.Background(), id)
	w.must(err)
	if !found {
		w.t.Fatalf("%s is not found", id)
	}
	w.detached(id)
}

func (w *world) detachNobody() {
	found, err := w.life.Detach(context.Background(), heddle.EndpointID{Container: "nobody", IfName: "eth0"})
	if found || err != nil {
		w.t.Fatal(found, err)
	}
}

func (w *world) create() {
	plot := w.plot()
	n, _, err := w.life.CreateNetwork(plot, false)
	w.must(err)
	w.made(n)
}

func (w *world) made(n heddle.Network) {
	if old, known := w.networks[n.Name]; known && old.ID != n.ID {
		w.t.Fatalf("%s was there, and is made anew", n.Name)
	}
	w.networks[n.Name] = n
}

func (w *world) delete() {
	plot := w.plot()
	_, known := w.networks[plot.Name]
	err := w.life.DeleteNetwork(plot.Name)
	switch {
	case !known && heddle.NoNetwork.In(err) == nil, known && w.used(plot.Name) && err == nil, known && !w.used(plot.Name) && err != nil:
		w.t.Fatalf("delete %s, known %v, used %v: %v", plot.Name, known, w.used(plot.Name), err)
	case err == nil:
		delete(w.networks, plot.Name)
	}
}

func (w *world) check() {
	id, any := w.one()
	if !any || w.lost[id] || w.lostSome {
		return
	}
	found, err := w.life.Check(id)
	if err != nil || len(found) > 0 {
		w.t.Fatalf("check %s: %v %v", id, found, err)
	}
}

// beginContainer starts a container anew: its endpoints are over.
func (w *world) beginContainer() {
	c := w.pick(containers)
	w.t.Logf("c%d", c)
	w.host.Begin(path(c))
	for id := range w.endpoints {
		if id.Container == fmt.Sprintf("c%d", c) {
			w.lost[id] = true
		}
	}
}

func (w *world) gc() {
	_, err := w.life.GC(context.Background(), "", nil)
	w.must(err)
	for id := range w.lost {
		w.detached(id)
	}
	// and what is gone of the host's is the patrol's
}

// lose has somebody take something off the host. The patrol puts it back.
func (w *world) lose() {
	id, any := w.one()
	if !any || w.lost[id] {
		return
	}
	e := w.endpoints[id]
	plan := w.planOf(e)
	all := plan.Host.Objects()
	if len(all) == 0 {
		return
	}
	if w.host.Lose(oneOf(w, all).Key()) {
		w.lostSome = true
	}
}

// atOnce has two clients call at the same time.
func (w *world) atOnce() {
	var clients [2]func(*agent.Agent)
	touched := map[heddle.EndpointID]bool{}
	for i := range clients {
		if id, any := w.one(); any && w.pick(2) == 0 {
			clients[i] = func(a *agent.Agent) { _, _ = a.Detach(context.Background(), id) }
			touched[id] = true
			continue
		}
		req := w.request()
		touched[req.ID] = true
		clients[i] = func(a *agent.Agent) { _, _ = a.Attach(context.Background(), req) }
	}
	w.done.besides.Add(1)
	over := make(chan struct{})
	go func() {
		defer close(over)
		clients[1](w.life.Agent)
	}()
	clients[0](w.life.Agent)
	<-over
	w.takeOver(touched)
}

// refuse has the kernel, or the ledger, refuse any step of an operation: an attach has made
// nothing then, and a detach is ended by another one.
func (w *world) refuse() {
	if id, any := w.one(); any && w.pick(2) == 0 {
		w.life.refuseAt(1 + w.pick(12))
		_, err := w.life.Detach(context.Background(), id)
		w.life.refuseAt(0)
		if err != nil {
			w.leave(id)
			return
		}
		w.detached(id)
		return
	}
	req := w.request()
	if _, known := w.endpoints[req.ID]; known {
		return
	}
	w.life.refuseAt(1 + w.pick(30))
	reply, err := w.life.Attach(context.Background(), req)
	w.life.refuseAt(0)
	if errors.Is(err, errRefused) {
		if _, err := w.life.Endpoint(req.ID); err == nil {
			w.t.Fatalf("%s is there", req.ID)
		}
		w.compare()
		return
	}
	w.accept(req, reply, err)
}

// takeOver takes over what the agent says of some endpoints, which must be possible.
func (w *world) takeOver(touched map[heddle.EndpointID]bool) {
	before := maps.Clone(w.lost)
	for id := range touched {
		w.detached(id)
	}
	for id := range touched {
		e, err := w.life.Endpoint(id)
		if err != nil {
			continue
		}
		w.must(w.attached(heddle.AttachRequest{ID: id, Network: e.NetworkName}, e))
		// whose container has ended is made anew, or not: its link tells
		if before[id] && w.host.PodObjects(e.Netns)["link/"+id.IfName] == nil {
			w.lost[id] = true
		}
	}
}

// crash kills the agent before any step of an operation or of its start, and starts
// another.
func (w *world) crash() {
	touched := map[heddle.EndpointID]bool{}
	w.life.killAfter(1 + w.pick(40))
	for tries := 0; !w.life.isDead() && tries < 8; tries++ {
		switch id, any := w.one(); {
		case any && w.pick(2) == 0:
			touched[id] = true
			w.do(func(a *agent.Agent) { _, _ = a.Detach(context.Background(), id) })
		case w.pick(5) == 0:
			w.killedOnNetwork()
		default:
			req := w.request()
			touched[req.ID] = true
			w.do(func(a *agent.Agent) { _, _ = a.Attach(context.Background(), req) })
		}
	}
	w.close()
	for range 2 {
		if w.begin(oneOf(w, []int{0, 0, 1, 3, 10, 30})) == nil && !w.life.isDead() {
			break
		}
		w.close()
		w.life = nil
	}
	if w.life == nil {
		w.must(w.begin(0))
	}
	w.life.killAfter(0)
	w.lostSome = false
	w.takeOverNetworks()
	w.takeOver(touched)
	w.compare()
}

// killedOnNetwork makes or deletes a network, while the agent may be killed.
func (w *world) killedOnNetwork() {
	plot := w.plot()
	deletes := w.pick(2) == 0
	w.do(func(a *agent.Agent) {
		if deletes {
			_ = a.DeleteNetwork(plot.Name)
		} else {
			_, _, _ = a.CreateNetwork(plot, false)
		}
	})
}

func (w *world) takeOverNetworks() {
	now := map[string]heddle.Network{}
	for _, n := range w.life.Networks() {
		now[n.Name] = n
	}
	for name := range w.networks {
		if _, there := now[name]; !there && w.used(name) {
			for id, e := range w.endpoints {
				if e.Network == w.networks[name].ID {
					if _, err := w.life.Endpoint(id); err == nil {
						w.t.Fatalf("network %s of %s is gone", name, id)
					}
				}
			}
		}
	}
	w.networks = now
}
