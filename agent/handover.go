package agent

import (
	"context"
	"log/slog"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// handovers looks after endpoints whose links are moved by engines. At first such an endpoint is
// offered: both ends of its link are on the host. Its engine then moves one end into the container
// without telling anybody, so the agent looks for it there, by its alias. Once that end is up and
// has its name, the endpoint is like any other: the record says where it is, and the agent makes
// those parts of the container's plan that the engine has not made.
type handovers struct {
	kernel        PlanApplier
	namespaces    Namespaces
	ledger        *ledger
	log           *slog.Logger
	trip          tripwire
	host          *hostView
	networks      *register
	records       *records
	containers    *containers
	holds         *holds
	lanDevices    *lanDevices
	linkLocks     *linkLocks
	activity      *activity
	repairJobs    *jobs
	endpointLocks *keyed[atIDs, heddle.EndpointID]
}

// linkLocation is where the container's end of a link that is handed over was found.
type linkLocation int

const (
	// nowhere: the end is gone, together with its container or its other end.
	nowhere linkLocation = iota
	// onHost: nobody has moved it.
	onHost
	// inContainer: it is in the container. The engine may not have finished with it, or the record
	// may say this already.
	inContainer
)

// handoverName is the name of the container's end while it is on the host.
func (r record) handoverName() string {
	if r.Endpoint.NIC != nil {
		return r.Endpoint.NIC.Name
	}
	return r.Endpoint.ID.HandName()
}

// completeHandover completes an endpoint that was offered. Once its link is in the container, it
// makes what is missing there, and then records where the link is.
func (o *handovers) completeHandover(r record) (record, linkLocation, error) {
	o.endpointLocks.mustHold(r.Endpoint.ID)
	where, seen, pod, err := o.containers.locate(r)
	if pod != nil {
		defer pod.Close()
	}
	ready := where == inContainer && seen.Up && seen.Name != r.handoverName()
	if err != nil || !ready || r.Endpoint.Inside == seen.Name && r.Inode == pod.Inode() {
		return r, where, err
	}
	n, err := o.networks.ofEndpoint(r.Endpoint)
	if err != nil {
		return r, where, err
	}
	next := r
	next.Endpoint.Inside, next.Endpoint.Netns, next.Inode = seen.Name, r.Request.Netns, pod.Inode()
	if next.Cookie, err = pod.Cookie(); err != nil {
		return r, where, err
	}
	next.Endpoint.NoIPv6 = seen.NoIPv6
	if next.Plan, err = n.planFor(o.host.now(), next.Endpoint); err != nil {
		return r, where, err
	}
	defer o.activity.begin()()
	if err := o.holds.hold(next, pod); err != nil {
		return r, where, err
	}
	if err := o.applyMissing(r, next, pod); err != nil {
		return r, where, err
	}
	if err := o.replaceRecord(r, next); err != nil {
		return r, where, err
	}
	if err := o.lanDevices.noteDevice(next.Endpoint.ID, pod); err != nil {
		return r, where, err
	}
	next, _ = o.records.get(next.Endpoint.ID)
	o.lanDevices.dhcp.noteTaken(next.Endpoint.ID)
	o.lanDevices.announce(next.Endpoint, pod)
	return next, where, nil
}

// applyMissing makes what next wants in the container. On the host it makes only what has changed
// since the endpoint was offered. The links there are unchanged.
func (o *handovers) applyMissing(offered, next record, pod kernel.Pod) error {
	add, _ := heddle.Delta(offered.Plan.Host, next.Plan.Host)
	add.Links = nil
	if !add.Empty() {
		defer o.linkLocks.lockShared(next)()
	}
	_, err := o.kernel.Apply(heddle.Plan{Host: add, Pod: next.Plan.Pod}, pod)
	return err
}

// replaceRecord replaces r by next. Both want the same on the host.
func (o *handovers) replaceRecord(r, next record) error {
	if err := o.trip.step("ledger taken"); err != nil {
		return err
	}
	if err := o.ledger.putRecord(next); err != nil {
		return err
	}
	o.records.replace(r, next)
	return nil
}

// engineHeadStart is how long the agent leaves an endpoint that was just offered to its engine.
// The engine configures it meanwhile, and many containers end before this time is over.
const engineHeadStart = time.Second

// completeHandovers completes all endpoints that were offered at least that long ago, and those
// whose addresses have to be announced on a LAN.
func (o *handovers) completeHandovers(age time.Duration) {
	var noticed []<-chan struct{}
	for _, r := range o.records.allOffered() {
		id := r.Endpoint.ID
		if time.Since(r.Endpoint.Created) < age && !o.onLAN(r) {
			continue
		}
		noticed = append(noticed, o.repairJobs.start("notice "+id.String(), work{what: "take over from its engine", endpoint: id.String()}, func(t *task) {
			t.waitFor("the kernel")
			o.completeOne(id)
		}))
	}
	awaitAll(context.Background(), completeTime, noticed)
}

// completeTime is how long callers wait for these completions: the kernel may be slow with one of
// them.
const completeTime = 5 * time.Second

func (o *handovers) completeOne(id heddle.EndpointID) {
	defer o.endpointLocks.Lock(id)()
	if r, known := o.records.get(id); known && r.offered() && o.records.pendingOf(id) == "" {
		if _, _, err := o.completeHandover(r); err != nil {
			o.log.Error("what an engine has put into a container is not completed", "endpoint", id, "error", err)
		}
	}
}

// onLAN reports whether the endpoint's network is a parent's LAN.
func (o *handovers) onLAN(r record) bool {
	n := o.networks.byID(r.Endpoint.Network)
	if n == nil {
		return false
	}
	_, guest := n.mode.(heddle.LANMode)
	return guest
}
