package random_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
)

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
		} else {
			w.detached(id)
		}
		w.passOn()
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
		w.passOn()
		return
	}
	w.accept(req, reply, err)
}

// passOn lets the patrol pass on a container's default route if that was refused, which the
// status has to tell, and compares.
func (w *world) passOn() {
	if w.unsettled() {
		w.done.passedOn.Add(1)
		w.jumpFor()
		if w.unsettled() {
			w.t.Fatalf("a default route is not passed on: %+v", w.life.Status().Parts)
		}
	}
	w.compare()
}

// unsettled reports whether the status tells of a default route that could not be settled.
func (w *world) unsettled() bool {
	return slices.ContainsFunc(w.life.Status().Parts, func(p heddle.PartStatus) bool {
		return p.Name == "repair" && strings.Contains(p.Detail, "default route")
	})
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
