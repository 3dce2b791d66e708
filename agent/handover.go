package agent

import (
	"context"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/mode/parts"
)

// An endpoint that is handed over is first offered: both ends of its link are on
// the host. Its engine then moves one into the container and tells nobody, so the
// agent looks for it there, by its alias. Once it is found, up and with a name,
// the endpoint is like any other: its record says where it is, and the plan's part
// for the container is made as far as the engine has not.

// place is where the container's end of a link that is handed over was found.
type place int

const (
	// nowhere: with its container, or with its other end, it is gone.
	nowhere place = iota
	// onHost: nobody has moved it.
	onHost
	// inContainer: it is there, and the engine is not ready with it, or the record
	// says so already.
	inContainer
)

// plan is what an endpoint wants of the kernel.
func (a *Agent) plan(n *network, e heddle.Endpoint) (heddle.Plan, error) {
	p, err := n.mode.Endpoint(a.host(), n.Network, e)
	if err != nil || !e.Handover {
		return p, err
	}
	return parts.HandOver(p, e), nil
}

// checkHandover refuses what cannot be handed over.
func checkHandover(n *network, req heddle.AttachRequest) error {
	if !req.Handover {
		return nil
	}
	const what = "hand over endpoint "
	if s, ok := n.mode.(heddle.Sharer); ok && !s.NeedsNamespace() {
		return heddle.Errorf(heddle.BadOption, what+req.ID.String(), "on network "+n.Name, "in mode "+n.Mode+" a container has no interface of its own that an engine could move; use the engine's own host network")
	}
	if !n.pool.Gives() {
		return heddle.Errorf(heddle.BadOption, what+req.ID.String(), "on network "+n.Name, "an engine gives a container the addresses of a subnet: create the network with --subnet")
	}
	return nil
}

// whereabouts looks for the container's end of an endpoint's link.
func (a *Agent) whereabouts(r record) (where place, seen *kernel.Seen, pod *kernel.Netns, err error) {
	here, err := a.kernel.Has(r.handName(), r.alias())
	if err != nil || here {
		return onHost, nil, nil, err
	}
	pod, err = a.sandbox(r)
	if err != nil || a.kernel.IsOwn(pod) {
		if pod != nil {
			pod.Close()
		}
		return nowhere, nil, nil, nil
	}
	seen, err = a.seek(r, pod)
	if err != nil || seen == nil {
		pod.Close()
		return nowhere, nil, nil, err
	}
	return inContainer, seen, pod, nil
}

// seek finds the endpoint's interface in a namespace: a pair's by its end on the host, a
// device on a parent by its number, once that is known. Only what has just been handed
// over is known by its alias: no container runs yet that could write it.
func (a *Agent) seek(r record, pod *kernel.Netns) (*kernel.Seen, error) {
	for _, l := range r.Plan.Host.Links {
		if l.Kind == "veth" && l.Name == r.Endpoint.ID.PortName() {
			return a.kernel.FarEnd(l.Name, pod)
		}
	}
	if r.Device != 0 && r.isPodOf(pod) {
		return pod.FindIndex(r.Device)
	}
	return pod.Find(r.alias())
}

// handName is what the container's end is called while it is on the host.
func (r record) handName() string {
	if r.Endpoint.NIC != nil {
		return r.Endpoint.NIC.Name
	}
	return r.Endpoint.ID.HandName()
}

// noticeHandover looks after an endpoint that was offered: once its link is in
// the container, what it still needs there is made, and then the record says where
// it is. The caller holds the endpoint's lock.
func (a *Agent) noticeHandover(r record) (record, place, error) {
	where, seen, pod, err := a.whereabouts(r)
	if pod != nil {
		defer pod.Close()
	}
	ready := where == inContainer && seen.Up && seen.Name != r.handName()
	if err != nil || !ready || r.Endpoint.Inside == seen.Name && r.Inode == pod.Inode() {
		return r, where, err
	}
	n, err := a.networkFor(r.Endpoint)
	if err != nil {
		return r, where, err
	}
	next := r
	next.Endpoint.Inside, next.Endpoint.Netns, next.Inode = seen.Name, r.Request.Netns, pod.Inode()
	if next.Cookie, err = pod.Cookie(); err != nil {
		return r, where, err
	}
	next.Endpoint.NoIPv6 = seen.NoIPv6
	if next.Plan, err = a.plan(n, next.Endpoint); err != nil {
		return r, where, err
	}
	defer a.work()()
	if err := a.hold(next, pod); err != nil {
		return r, where, err
	}
	if err := a.fillIn(r, next, pod); err != nil {
		return r, where, err
	}
	if err := a.recordTaken(r, next); err != nil {
		return r, where, err
	}
	if err := a.noteDevice(next.Endpoint.ID, pod); err != nil {
		return r, where, err
	}
	next, _ = a.lookup(next.Endpoint.ID)
	a.announce(next.Endpoint, pod)
	return next, where, nil
}

// fillIn makes what next wants in the container. What it wants on the host was made
// when it was offered, but for what has changed since; the links there are as they were.
func (a *Agent) fillIn(offered, next record, pod *kernel.Netns) error {
	add, _ := heddle.Delta(offered.Plan.Host, next.Plan.Host)
	add.Links = nil
	if !add.Empty() {
		defer a.sharing(next)()
	}
	_, err := a.kernel.Apply(heddle.Plan{Host: add, Pod: next.Plan.Pod}, pod)
	return err
}

// recordTaken puts next in the place of r. What next wants on the host, r wanted.
func (a *Agent) recordTaken(r, next record) error {
	if err := a.step("ledger taken"); err != nil {
		return err
	}
	if err := a.ledger.putRecord(next); err != nil {
		return err
	}
	a.swap(r, next)
	return nil
}

// engineRest is how long an engine is left alone with an endpoint that it has just
// been given: it equips it, and many a container has ended before that is over.
const engineRest = time.Second

// noticeHandovers looks after all endpoints that were offered at least so long ago, and
// after those whose addresses a LAN has to be told of.
func (a *Agent) noticeHandovers(age time.Duration) {
	a.mu.RLock()
	var offered []heddle.EndpointID
	for id, r := range a.endpoints {
		if r.offered() && a.pending[id] == "" && (time.Since(r.Endpoint.Created) >= age || a.onLAN(r)) {
			offered = append(offered, id)
		}
	}
	a.mu.RUnlock()
	var noticed []<-chan struct{}
	for _, id := range offered {
		noticed = append(noticed, a.mending.start("notice "+id.String(), work{what: "take over from its engine", endpoint: id.String()}, func(t *task) {
			t.awaits("the kernel")
			a.noticeOne(id)
		}))
	}
	awaitAll(context.Background(), noticeTime, noticed)
}

// noticeTime is how long others wait until what engines have put into containers is
// completed: the kernel may be slow with one of them.
const noticeTime = 5 * time.Second

func (a *Agent) noticeOne(id heddle.EndpointID) {
	defer a.ids.Lock(id)()
	if r, known := a.lookup(id); known && r.offered() && a.pendingOf(id) == "" {
		if _, _, err := a.noticeHandover(r); err != nil {
			a.log.Error("what an engine has put into a container is not completed", "endpoint", id, "error", err)
		}
	}
}

// onLAN reports whether the endpoint's network is a parent's LAN. The caller holds mu.
func (a *Agent) onLAN(r record) bool {
	n := a.networkHeld(r.Endpoint.Network)
	if n == nil {
		return false
	}
	_, guest := n.mode.(heddle.Guest)
	return guest
}
