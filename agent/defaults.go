package agent

import (
	"log/slog"

	"github.com/heddle-network/heddle"
)

// defaults says, for each container's namespace (by inode), which endpoint has its
// default route, and moves it.
type defaults struct {
	kernel     Interpreter
	ledger     *ledger
	log        *slog.Logger
	trip       tripwire
	host       *hostView
	networks   *register
	roll       *roll
	containers *containers
	pods       *keyed[atPods, uint64]
	ids        *keyed[atIDs, heddle.EndpointID]

	mu      rwMutex[atDefaults]
	holders map[uint64]heddle.EndpointID
}

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
