package agent

import (
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// records are the records of the endpoints on this host, with the unfinished operation on each,
// and which of them are in one container.
type records struct {
	// wanted counts what the records' plans want.
	wanted *wantedObjects
	// names follow the records.
	names *nameTables

	mu      rwMutex[atRecords]
	byID    map[heddle.EndpointID]record
	pending map[heddle.EndpointID]string
	// inPods lists the endpoints in each container's namespace (by inode).
	inPods map[uint64]map[heddle.EndpointID]bool
	// macs and cookies count the endpoints with a MAC address, and in a namespace (by cookie).
	macs    map[heddle.MAC]int
	cookies map[uint64]int
	// offered are the endpoints whose links no engine has moved yet.
	offered map[heddle.EndpointID]bool
}

func newRecords(w *wantedObjects, names *nameTables) *records {
	return &records{wanted: w, names: names, byID: map[heddle.EndpointID]record{}, pending: map[heddle.EndpointID]string{},
		inPods: map[uint64]map[heddle.EndpointID]bool{}, macs: map[heddle.MAC]int{}, cookies: map[uint64]int{}, offered: map[heddle.EndpointID]bool{}}
}

func (l *records) get(id heddle.EndpointID) (record, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	r, known := l.byID[id]
	return r, known
}

// replace replaces an endpoint's record, and counts what the new one wants.
func (l *records) replace(old, next record) {
	l.wanted.replaceRecord(old, next)
	l.put(next)
}

// put replaces the record of an endpoint without counting what it wants.
func (l *records) put(r record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.putLocked(r)
	l.names.endpointChanged(r.Endpoint.Network, r.Endpoint.ID)
}

func (l *records) putLocked(r record) {
	l.dropLocked(r.Endpoint.ID)
	l.byID[r.Endpoint.ID] = r
	l.macs[r.Endpoint.MAC]++
	l.cookies[r.Cookie]++
	if r.offered() {
		l.offered[r.Endpoint.ID] = true
	}
}

func (l *records) dropLocked(id heddle.EndpointID) {
	was, known := l.byID[id]
	if !known {
		return
	}
	delete(l.byID, id)
	delete(l.offered, id)
	if l.macs[was.Endpoint.MAC]--; l.macs[was.Endpoint.MAC] == 0 {
		delete(l.macs, was.Endpoint.MAC)
	}
	if l.cookies[was.Cookie]--; l.cookies[was.Cookie] == 0 {
		delete(l.cookies, was.Cookie)
	}
}

// add adds a record, with the unfinished operation on it.
func (l *records) add(r record, op string) {
	defer l.wanted.addRecord(r)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.putLocked(r)
	if r.Inode != 0 && !r.Endpoint.Handover { // an engine manages the default routes itself
		if l.inPods[r.Inode] == nil {
			l.inPods[r.Inode] = map[heddle.EndpointID]bool{}
		}
		l.inPods[r.Inode][r.Endpoint.ID] = true
	}
	l.setPendingLocked(r.Endpoint.ID, op)
}

func (l *records) remove(r record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.names.endpointChanged(r.Endpoint.Network, r.Endpoint.ID)
	l.dropLocked(r.Endpoint.ID)
	delete(l.pending, r.Endpoint.ID)
	delete(l.inPods[r.Inode], r.Endpoint.ID)
	if len(l.inPods[r.Inode]) == 0 {
		delete(l.inPods, r.Inode)
	}
}

// setPending notes the unfinished operation on an endpoint; "" if there is none.
func (l *records) setPending(id heddle.EndpointID, op string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setPendingLocked(id, op)
}

func (l *records) setPendingLocked(id heddle.EndpointID, op string) {
	if op == "" {
		delete(l.pending, id)
	} else {
		l.pending[id] = op
	}
	if r, known := l.byID[id]; known {
		l.names.endpointChanged(r.Endpoint.Network, id)
	}
}

// pendingOf returns the unfinished operation on an endpoint; "" if there is none.
func (l *records) pendingOf(id heddle.EndpointID) string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.pending[id]
}

// withOperation returns an endpoint's record, and the unfinished operation on it.
func (l *records) withOperation(id heddle.EndpointID) (r record, op string, known bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	r, known = l.byID[id]
	return r, l.pending[id], known
}

// unfinished are the endpoints with an unfinished operation.
func (l *records) unfinished() map[heddle.EndpointID]bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	all := map[heddle.EndpointID]bool{}
	for id := range l.pending {
		all[id] = true
	}
	return all
}

// each calls do with every record and its operation. do may only take locks that come later
// in the lock order.
func (l *records) each(do func(r record, op string)) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for id, r := range l.byID {
		do(r, l.pending[id])
	}
}

// filter lists the records for which is returns true. is may only take locks that come later
// in the lock order.
func (l *records) filter(is func(r record, op string) bool) (all []record) {
	l.each(func(r record, op string) {
		if is(r, op) {
			all = append(all, r)
		}
	})
	return all
}

// allOffered lists the endpoints whose links no engine has moved yet and that have no unfinished operation.
func (l *records) allOffered() (all []record) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for id := range l.offered {
		if l.pending[id] == "" {
			all = append(all, l.byID[id])
		}
	}
	return all
}

// notPending is for filter: no operation on the endpoint is unfinished.
func notPending(_ record, op string) bool { return op == "" }

// sizes returns the number of endpoints, and how many of them have an unfinished operation.
func (l *records) sizes() (all, pending int) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.byID), len(l.pending)
}

// inNamespace lists the endpoints in namespaces with this inode number.
func (l *records) inNamespace(inode uint64) (all []record) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for id := range l.inPods[inode] {
		all = append(all, l.byID[id])
	}
	return all
}

// inodes returns the inode numbers of the namespaces in which there are endpoints.
func (l *records) inodes() (all []uint64) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for inode := range l.inPods {
		all = append(all, inode)
	}
	return all
}

// inContainer lists the endpoints in a namespace.
func (l *records) inContainer(pod kernel.Pod) []record {
	if pod == nil {
		return nil
	}
	// the kernel may use a number again
	return slices.DeleteFunc(l.inNamespace(pod.Inode()), func(r record) bool { return !r.isPodOf(pod) })
}

// givenNICs lists the NICs that containers have.
func (l *records) givenNICs() (all []kernel.GivenNIC) {
	l.each(func(r record, _ string) {
		if r.Endpoint.NIC != nil {
			all = append(all, kernel.GivenNIC{NIC: *r.Endpoint.NIC, Inode: r.Inode, Cookie: r.Cookie})
		}
	})
	return all
}

// hasMAC reports whether an endpoint has the MAC address, hasContainer whether one is in the namespace with the cookie.
func (l *records) hasMAC(mac heddle.MAC) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.macs[mac] > 0
}

func (l *records) hasContainer(cookie uint64) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.cookies[cookie] > 0
}

// addresses returns the addresses of all endpoints, by network.
func (l *records) addresses() map[heddle.Pin]bool {
	all := map[heddle.Pin]bool{}
	l.each(func(r record, _ string) {
		for _, p := range r.Endpoint.AllAddrs() {
			all[heddle.Pin{Network: r.Endpoint.Network, Addr: p.Addr()}] = true
		}
	})
	return all
}

// lanDevices returns the devices of all endpoints on parents.
func (l *records) lanDevices() map[device][]record {
	all := map[device][]record{}
	l.each(func(r record, _ string) {
		if r.Device != 0 {
			at := device{r.Cookie, r.Device}
			all[at] = append(all[at], r)
		}
	})
	return all
}

// noneOn reports whether no endpoint is on the network.
func (l *records) noneOn(network string) bool {
	return len(l.filter(func(r record, _ string) bool { return r.Endpoint.Network == network })) == 0
}
