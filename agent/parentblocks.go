package agent

import (
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
)

// blockOf is the prefix that has one of the addresses; the zero value if none has.
func blockOf(blocks []netip.Prefix, addrs []netip.Prefix) netip.Prefix {
	for _, b := range blocks {
		if slices.ContainsFunc(addrs, func(a netip.Prefix) bool { return b.Contains(a.Addr()) }) {
			return b
		}
	}
	return netip.Prefix{}
}

// usedOfBlocks are how many sets of each prefix are in use. Those that came alone are not counted.
func (n *sharedNIC) usedOfBlocks() map[netip.Prefix]int {
	used := map[netip.Prefix]int{}
	for _, s := range n.sets {
		if s.block.IsValid() && !s.isFree() {
			used[s.block]++
		}
	}
	return used
}

// blocks is how many prefixes the NICs have.
func (p *parentPool) blocks() (count int) {
	for _, n := range p.nics {
		all := map[netip.Prefix]bool{}
		for _, s := range n.sets {
			all[s.block] = s.block.IsValid()
		}
		delete(all, netip.Prefix{})
		count += len(all)
	}
	return count
}

// surplus finds sets that are ready and come and go together: one, or all of a prefix, of which none is in use or cools. The sets that are ready without them are as many
// as are wanted.
func (p *parentPool) surplus(warm int, now time.Time) (on *sharedNIC, is func(givenSet) bool) {
	_, ready, _ := p.counts(now)
	for _, n := range p.nics {
		if n.gone {
			continue
		}
		for _, s := range n.sets {
			together := func(x givenSet) bool { return x.block == s.block && (s.block.IsValid() || overlap(x.addrs, s.addrs)) }
			count, idle := 0, true
			for _, x := range n.sets {
				if together(x) {
					count, idle = count+1, idle && x.isReady(now)
				}
			}
			if idle && ready-count >= warm {
				return n, together
			}
		}
	}
	return nil, nil
}

// takeSurplus takes sets out of the pool that nobody has needed for five minutes: one, or all of a prefix. It returns one of them.
func (p *parentPool) takeSurplus(warm int, now time.Time) (on heddle.ParentNIC, one givenSet, is bool) {
	n, together := p.surplus(warm, now)
	switch {
	case n == nil:
		p.above = time.Time{}
	case p.above.IsZero():
		p.above = now
	case now.Sub(p.above) >= surplusTime:
		one = n.sets[slices.IndexFunc(n.sets, together)]
		n.sets, n.full = slices.DeleteFunc(n.sets, together), false
		return n.ParentNIC, one, true
	}
	return on, one, false
}
