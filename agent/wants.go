package agent

import "github.com/heddle-network/heddle"

// wants counts, for every object key on the host's side, the plans that want it. It is
// derived from the plans and never stored.
type wants struct {
	mu    rwMutex[atWants]
	plans map[string]int
	// counted says of which endpoints the plans are counted, so that none counts twice.
	counted map[heddle.EndpointID]bool
}

func newWants() *wants {
	return &wants{plans: map[string]int{}, counted: map[heddle.EndpointID]bool{}}
}

// add counts a plan's part of the host.
func (w *wants) add(s heddle.State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.addLocked(s)
}

// drop takes back what add has counted.
func (w *wants) drop(s heddle.State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropLocked(s)
}

func (w *wants) addLocked(s heddle.State) {
	for _, o := range s.Objects() {
		w.plans[o.Key()]++
	}
}

func (w *wants) dropLocked(s heddle.State) {
	for _, o := range s.Objects() {
		if w.plans[o.Key()]--; w.plans[o.Key()] <= 0 {
			delete(w.plans, o.Key())
		}
	}
}

// count counts an endpoint's plan, once.
func (w *wants) count(r record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.counted[r.Endpoint.ID] {
		w.counted[r.Endpoint.ID] = true
		w.addLocked(r.Plan.Host)
	}
}

// discount takes back what count has counted.
func (w *wants) discount(r record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.counted[r.Endpoint.ID] {
		delete(w.counted, r.Endpoint.ID)
		w.dropLocked(r.Plan.Host)
	}
}

// exchange counts an endpoint's next plan in the place of the old, if that is counted.
func (w *wants) exchange(old, next record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.counted[old.Endpoint.ID] {
		w.addLocked(next.Plan.Host)
		w.dropLocked(old.Plan.Host)
	}
}

// by counts the plans that want an object.
func (w *wants) by(key string) int {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.plans[key]
}

// has reports whether a plan wants an object.
func (w *wants) has(key string) bool { return w.by(key) > 0 }
