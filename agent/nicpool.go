package agent

import (
	"slices"
	"time"

	"github.com/heddle-network/heddle/nic"
)

// surplusTime is how long a pool keeps NICs that are more than it should have. It is not at once, so that it does not swing.
const surplusTime = 5 * time.Minute

// nicPool are the NICs of a network that are plugged in and wait for an endpoint.
type nicPool struct {
	least, most int
	nics        []waitingNIC
	// coming is how many are being made as new.
	coming int
	// attaches are when endpoints took NICs, of the last ten minutes.
	attaches []time.Time
	// above is since when more are ready than should be; zero if there are not.
	above time.Time
}

// waitingNIC is a NIC that may be given to an endpoint from some time on. Before, it cools.
type waitingNIC struct {
	nic.Card
	from time.Time
}

// take takes the NIC out of the pool that has been ready for longest.
func (p *nicPool) take(now time.Time) (nic.Card, bool) {
	found := -1
	for i, n := range p.nics {
		if !n.from.After(now) && (found < 0 || n.from.Before(p.nics[found].from)) {
			found = i
		}
	}
	return p.remove(found)
}

// takeNewest takes the NIC out of the pool that would be given last: one that cools, if there is one.
func (p *nicPool) takeNewest() (nic.Card, bool) {
	found := -1
	for i, n := range p.nics {
		if found < 0 || n.from.After(p.nics[found].from) {
			found = i
		}
	}
	return p.remove(found)
}

func (p *nicPool) remove(i int) (nic.Card, bool) {
	if i < 0 {
		return nic.Card{}, false
	}
	c := p.nics[i].Card
	p.nics = slices.Delete(p.nics, i, i+1)
	return c, true
}

// counts are how many can be given now, and how many cool.
func (p *nicPool) counts(now time.Time) (ready, cooling int) {
	for _, n := range p.nics {
		if !n.from.After(now) {
			ready++
		}
	}
	return ready, len(p.nics) - ready + p.coming
}

// next is since or from when the first one can be given, if there is any.
func (p *nicPool) next(now time.Time) (at time.Time, is bool) {
	if p.coming > 0 {
		at, is = now.Add(coolDown), true
	}
	for _, n := range p.nics {
		if !is || n.from.Before(at) {
			at, is = n.from, true
		}
	}
	return at, is
}

func (p *nicPool) target(now time.Time) int {
	p.attaches = recent(p.attaches, now)
	return poolTarget(p.least, p.most, p.attaches, now)
}

func (p *nicPool) has(token string) bool {
	return slices.ContainsFunc(p.nics, func(n waitingNIC) bool { return n.Token == token })
}

// hasRoom reports whether the pool may have one more.
func (p *nicPool) hasRoom() bool { return len(p.nics)+p.coming < p.most }

// lacks reports whether one more is to be plugged in. Those that cool do not count as ready.
func (p *nicPool) lacks(now time.Time) bool {
	ready, _ := p.counts(now)
	return ready < p.target(now) && p.hasRoom()
}

// takeIdle takes a NIC out of the pool that nobody has needed for five minutes.
func (p *nicPool) takeIdle(now time.Time) (nic.Card, bool) {
	ready, _ := p.counts(now)
	switch {
	case ready <= p.target(now):
		p.above = time.Time{}
	case p.above.IsZero():
		p.above = now
	case now.Sub(p.above) >= surplusTime:
		return p.take(now)
	}
	return nic.Card{}, false
}
