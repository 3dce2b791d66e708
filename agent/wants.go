package agent

import "github.com/heddle-network/heddle"

// wanted counts, for every object key on the host's side, the plans that want
// it. It is derived from the plans and never stored.
type wanted map[string]int

func (w wanted) add(s heddle.State) {
	for _, o := range s.Objects() {
		w[o.Key()]++
	}
}

func (w wanted) remove(s heddle.State) {
	for _, o := range s.Objects() {
		if w[o.Key()]--; w[o.Key()] <= 0 {
			delete(w, o.Key())
		}
	}
}
