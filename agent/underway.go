package agent

// underway is a network that is being made, renamed or removed. Nobody else gets its name,
// its addresses or its objects meanwhile; no lock has to be held for that.
type underway struct {
	*network
	// over is closed when the network is made, renamed or gone, or was not made.
	over chan struct{}
}

// inTheWay says why a network cannot be made; if that is for one that is being made or
// removed just now, with what is closed at the end of that.
func (a *Agent) inTheWay(n *network) (busy <-chan struct{}, err error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.inTheWayHeld(n)
}

// inTheWayHeld is inTheWay; the caller holds mu.
func (a *Agent) inTheWayHeld(n *network) (busy <-chan struct{}, err error) {
	for _, other := range a.networks {
		if err := n.beside(other); err != nil {
			return nil, err
		}
	}
	for _, other := range a.underway {
		if err := n.beside(other.network); err != nil {
			return other.over, err
		}
	}
	return nil, nil
}

// reserve claims what a network needs before it is made, as inTheWay allows; its plan is
// wanted from then on.
func (a *Agent) reserve(n *network) (busy <-chan struct{}, err error) {
	return a.occupy(n, func() { a.wants.add(n.plan.Host) })
}

// occupy claims what a network needs, as inTheWay allows, and does what is to be done at
// that moment, with mu held.
func (a *Agent) occupy(n *network, then func()) (busy <-chan struct{}, err error) {
	for {
		a.mu.RLock()
		seen := a.changes
		busy, err := a.inTheWayHeld(n)
		a.mu.RUnlock()
		if err != nil {
			return busy, err
		}
		a.mu.Lock()
		if a.changes == seen { // comparing takes a while, and is not done with all others locked out
			a.begunHeld(n)
			then()
			a.mu.Unlock()
			return nil, nil
		}
		a.mu.Unlock()
	}
}

// begunHeld notes a network that is being made, renamed or removed. The caller holds mu.
func (a *Agent) begunHeld(n *network) {
	a.changes++
	a.underway[n.ID] = &underway{n, make(chan struct{})}
}

// concludeHeld notes the end of that. The caller holds mu.
func (a *Agent) concludeHeld(id string) {
	a.changes++
	close(a.underway[id].over)
	delete(a.underway, id)
}
