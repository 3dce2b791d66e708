package agent

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/heddle-network/heddle"
)

// defaults says, for each container's namespace (by inode), which endpoint has its
// default route, and moves it.
type defaults struct {
	kernel        PlanApplier
	ledger        *ledger
	log           *slog.Logger
	trip          tripwire
	host          *hostView
	networks      *register
	records       *records
	containers    *containers
	podLocks      *keyed[atPods, uint64]
	endpointLocks *keyed[atIDs, heddle.EndpointID]

	mu      rwMutex[atDefaults]
	holders map[uint64]heddle.EndpointID
	// unsettled says of which containers a change of the default route failed, and why.
	unsettled map[uint64]unsettledRoute
}

// unsettledRoute is a container's default route that could not be settled.
type unsettledRoute struct{ container, why string }

// of returns the endpoint that has the default route, if any.
func (d *defaults) of(inode uint64) (id heddle.EndpointID, is bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	id, is = d.holders[inode]
	return id, is
}

// claim notes that the endpoint has it, unless another does.
func (d *defaults) claim(inode uint64, id heddle.EndpointID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, held := d.holders[inode]; held {
		return false
	}
	d.holders[inode] = id
	return true
}

// set notes that the endpoint has it.
func (d *defaults) set(inode uint64, id heddle.EndpointID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.holders[inode] = id
}

// drop notes that the endpoint no longer has it.
func (d *defaults) drop(inode uint64, id heddle.EndpointID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holders[inode] == id {
		delete(d.holders, inode)
	}
}

// forget is drop for every namespace.
func (d *defaults) forget(id heddle.EndpointID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for inode, holder := range d.holders {
		if holder == id {
			delete(d.holders, inode)
		}
	}
}

// note keeps whether the container's default route is settled: err is nil if it is.
func (d *defaults) note(inode uint64, container string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		delete(d.unsettled, inode)
		return
	}
	now := unsettledRoute{container, err.Error()}
	if d.unsettled[inode] != now {
		d.log.Error("default route not settled; the patrol tries again", "container", container, "error", err)
	}
	d.unsettled[inode] = now
}

// told says which containers' default routes are not settled, and why.
func (d *defaults) told() (all []string) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, u := range d.unsettled {
		all = append(all, "default route of "+u.container+": "+u.why)
	}
	slices.Sort(all)
	return all
}

// retry has each default route settled that could not be before, each in a job of its own.
func (d *defaults) retry(jobs *jobs) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for inode, u := range d.unsettled {
		jobs.start(fmt.Sprint("default route ", inode), work{what: "settle the default route of container " + u.container}, func(t *task) {
			t.waitFor("the container")
			d.pass(inode)
		})
	}
}
