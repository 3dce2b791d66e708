package agent

import "github.com/heddle-network/heddle/events"

// underway is a network that is being made, renamed or removed. Meanwhile no other network gets
// its name, addresses or objects. No lock has to be held for that.
type underway struct {
	*network
	// done is closed when the network is made, renamed or removed, or when that failed.
	done chan struct{}
}

// conflict returns why a network cannot be made. If the reason is a network that is being made or
// removed, it also returns a channel that is closed when that ends.
func (g *register) conflict(n *network) (busy <-chan struct{}, err error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.conflictLocked(n)
}

func (g *register) conflictLocked(n *network) (busy <-chan struct{}, err error) {
	for _, other := range g.byName {
		if err := n.conflictsWith(other); err != nil {
			return nil, err
		}
	}
	for _, other := range g.underway {
		if err := n.conflictsWith(other.network); err != nil {
			return other.done, err
		}
	}
	return nil, nil
}

// reserve claims what a network needs before it is made, unless it conflicts. From then on its
// plan is wanted.
func (g *register) reserve(n *network) (busy <-chan struct{}, err error) {
	return g.claim(n, func() { g.wanted.add(n.plan.Host) })
}

// claim claims what a network needs, unless it conflicts, and calls then while no other network
// comes or goes.
func (g *register) claim(n *network, then func()) (busy <-chan struct{}, err error) {
	for {
		g.mu.RLock()
		seen := g.changes
		busy, err := g.conflictLocked(n)
		g.mu.RUnlock()
		if err != nil {
			return busy, err
		}
		g.mu.Lock()
		if g.changes == seen { // comparing takes a while, so it is done without the write lock
			g.beginLocked(n)
			then()
			g.mu.Unlock()
			return nil, nil
		}
		g.mu.Unlock()
	}
}

// beginLocked notes a network that is being made, renamed or removed.
func (g *register) beginLocked(n *network) {
	g.changes++
	g.underway[n.ID] = &underway{n, make(chan struct{})}
}

// endLocked notes the end of that.
func (g *register) endLocked(id string) {
	g.changes++
	close(g.underway[id].done)
	delete(g.underway, id)
}

// endMaking notes that a reserved network was made, or was not.
func (g *register) endMaking(n *network, is bool) {
	g.mu.Lock()
	if is {
		g.byName[n.Name] = n
		g.reporter.networkEvent(events.Created, n.Network, "")
	}
	g.endLocked(n.ID)
	g.mu.Unlock()
	if is {
		g.signalChange()
	}
}

// endRenaming notes that a network has its new name, or keeps its old one.
func (g *register) endRenaming(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.endLocked(id)
}

// beginRemoval notes that a network is being removed, and reports whether it is the last one. From
// then on its plan is not wanted.
func (g *register) beginRemoval(n *network) (last bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	stored := g.byName[n.Name]
	delete(g.byName, n.Name)
	g.beginLocked(stored)
	g.wanted.drop(n.plan.Host)
	return len(g.byName)+len(g.underway) == 1
}

// endRemoval notes that a network is removed, or is kept because that failed: the patrol restores
// what is missing then.
func (g *register) endRemoval(n *network, gone bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if gone {
		g.reporter.networkEvent(events.Removed, n.Network, "")
	} else {
		g.byName[n.Name] = g.underway[n.ID].network
		g.wanted.add(n.plan.Host)
	}
	g.endLocked(n.ID)
}
