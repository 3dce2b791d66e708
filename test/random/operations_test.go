package random_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
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
