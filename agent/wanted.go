package agent

import "github.com/heddle-network/heddle"

// wantedObjects counts, for every object key on the host's side, the plans that want the object.
// It is computed from the plans and never stored.
type wantedObjects struct {
	mu     rwMutex[atWanted]
	counts map[string]int
	// counted are the endpoints whose plans are counted, so that none is counted twice.
	counted map[heddle.EndpointID]bool
}

func newWantedObjects() *wantedObjects {
	return &wantedObjects{counts: map[string]int{}, counted: map[heddle.EndpointID]bool{}}
}

// add counts a plan's part of the host.
func (w *wantedObjects) add(s heddle.State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.addLocked(s)
}

// drop undoes add.
func (w *wantedObjects) drop(s heddle.State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropLocked(s)
}

func (w *wantedObjects) addLocked(s heddle.State) {
	for _, o := range s.Objects() {
		w.counts[o.Key()]++
	}
}

func (w *wantedObjects) dropLocked(s heddle.State) {
	for _, o := range s.Objects() {
		if w.counts[o.Key()]--; w.counts[o.Key()] <= 0 {
			delete(w.counts, o.Key())
		}
	}
}

// addRecord counts an endpoint's plan, unless it is counted already.
func (w *wantedObjects) addRecord(r record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.counted[r.Endpoint.ID] {
		w.counted[r.Endpoint.ID] = true
		w.addLocked(r.Plan.Host)
	}
}

// dropRecord undoes addRecord.
func (w *wantedObjects) dropRecord(r record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.counted[r.Endpoint.ID] {
		delete(w.counted, r.Endpoint.ID)
		w.dropLocked(r.Plan.Host)
	}
}

// replaceRecord counts an endpoint's next plan instead of the old one, if that is counted.
func (w *wantedObjects) replaceRecord(old, next record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.counted[old.Endpoint.ID] {
		w.addLocked(next.Plan.Host)
		w.dropLocked(old.Plan.Host)
	}
}

// plansFor returns how many plans want an object.
func (w *wantedObjects) plansFor(key string) int {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.counts[key]
}

// byOthers reports whether more plans than one want an object.
func (w *wantedObjects) byOthers(key string) bool { return w.plansFor(key) > 1 }

// has reports whether a plan wants an object.
func (w *wantedObjects) has(key string) bool { return w.plansFor(key) > 0 }
