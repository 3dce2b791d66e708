package agent

import "github.com/heddle-network/heddle/events"

// underway is a network that is being made, renamed or removed. Nobody else gets its name,
// its addresses or its objects meanwhile; no lock has to be held for that.
type underway struct {
	*network
	// over is closed when the network is made, renamed or gone, or was not made.
	over chan struct{}
}

// inTheWay returns why a network cannot be made. If the reason is a network that is being
// made or removed, it also returns a channel that is closed when that ends.
func (g *register) inTheWay(n *network) (busy <-chan struct{}, err error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.inTheWayLocked(n)
}

func (g *register) inTheWayLocked(n *network) (busy <-chan struct{}, err error) {
	for _, other := range g.byName {
		if err := n.beside(other); err != nil {
			return nil, err
		}
	}
	for _, other := range g.underway {
		if err := n.beside(other.network); err != nil {
			return other.over, err
		}
	}
	return nil, nil
}

// reserve claims what a network needs before it is made, as inTheWay allows; its plan is
// wanted from then on.
func (g *register) reserve(n *network) (busy <-chan struct{}, err error) {
	return g.occupy(n, func() { g.wants.add(n.plan.Host) })
}

// occupy claims what a network needs, as inTheWay allows, and does what is to be done at
// that moment, while nothing else comes or goes.
func (g *register) occupy(n *network, then func()) (busy <-chan struct{}, err error) {
	for {
		g.mu.RLock()
		seen := g.changes
		busy, err := g.inTheWayLocked(n)
		g.mu.RUnlock()
		if err != nil {
			return busy, err
		}
		g.mu.Lock()
		if g.changes == seen { // comparing takes a while, and is not done with all others locked out
			g.begunLocked(n)
			then()
			g.mu.Unlock()
			return nil, nil
		}
		g.mu.Unlock()
	}
}

// begunLocked notes a network that is being made, renamed or removed.
func (g *register) begunLocked(n *network) {
	g.changes++
	g.underway[n.ID] = &underway{n, make(chan struct{})}
}

// concludeLocked notes the end of that.
func (g *register) concludeLocked(id string) {
	g.changes++
	close(g.underway[id].over)
	delete(g.underway, id)
}

// made notes that a network which was reserved is made, or was not.
func (g *register) made(n *network, is bool) {
	g.mu.Lock()
	if is {
		g.byName[n.Name] = n
		g.teller.network(events.Created, n.Network, "")
	}
	g.concludeLocked(n.ID)
	g.mu.Unlock()
	if is {
		g.changed()
	}
}

// renamed notes that a network which was occupied has its name, or keeps its old one.
func (g *register) renamed(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.concludeLocked(id)
}

// leave notes that a network is being removed, and reports whether it is the last; its
// plan is wanted no more.
func (g *register) leave(n *network) (last bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	stored := g.byName[n.Name]
	delete(g.byName, n.Name)
	g.begunLocked(stored)
	g.wants.drop(n.plan.Host)
	return len(g.byName)+len(g.underway) == 1
}

// left notes that a network which was to leave is gone, or is there again as a whole: the
// patrol puts back what is gone already.
func (g *register) left(n *network, gone bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if gone {
		g.teller.network(events.Removed, n.Network, "")
	} else {
		g.byName[n.Name] = g.underway[n.ID].network
		g.wants.add(n.plan.Host)
	}
	g.concludeLocked(n.ID)
}
