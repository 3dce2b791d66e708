package coexist

import "slices"

// Where our accept rules go among another firewall's: behind what it says of some
// packets, before what it says of all that are left. What follows knows neither
// nftables nor iptables.

// A step is what one rule means to that question.
type step struct {
	does effect
	// target is the chain that it leads to, if it leads to one, and by how much of
	// the packet.
	target string
	under  condition
}

type effect int

const (
	decides effect = iota // something about packets that it describes: not our affair
	tells                 // logs, counts: no packet's way ends here
	drops                 // under its condition
	leads                 // to a chain
)

// A condition is how closely a rule looks at a packet before it acts.
type condition int

const (
	always      condition = iota
	byInterface           // alone, and not at one of ours
	byProtocol            // alone, with an answer of the protocol's own (a TCP reset)
	closely
)

// A place is a gap in a chain: before the rule of that index, or at the end.
type insertPosition struct {
	chain  string
	before int
}

// chainWalk is another firewall's filter, as far as it matters.
type chainWalk struct {
	// chains are the steps of each, without our own rules.
	chains map[string][]step
	// shared are chains that we cannot put rules into: they are reached by what looks
	// closely, too, whose drops ours would void.
	shared []string
	seen   map[string]bool
	found  []insertPosition
}

// insertPositions finds the gaps, from the base chain on, whose policy may be to drop. Chains
// that are blanket, but cannot have rules of ours, are named.
func insertPositions(base string, policyDrops bool, chains map[string][]step) (found []insertPosition, shared []string) {
	b := chainWalk{chains: chains, seen: map[string]bool{}}
	if !b.walk(base) && policyDrops {
		b.found = append(b.found, insertPosition{base, len(chains[base])})
	}
	return b.found, b.shared
}

// walk looks through a chain and those that it leads to, and reports whether it ends
// with a drop of all that is left.
func (b *chainWalk) walk(chain string) (ends bool) {
	if b.seen[chain] {
		return false
	}
	b.seen[chain] = true
	steps := b.chains[chain]
	for i, s := range steps {
		switch {
		case s.under == always && (s.does == drops || s.does == leads && b.onlyDrops(s.target)):
			for i > 0 && (steps[i-1].does == tells || steps[i-1].does == drops && steps[i-1].under == byProtocol) {
				i--
			}
			if b.closelyReached(chain) {
				b.shared = append(b.shared, chain)
			} else {
				b.found = append(b.found, insertPosition{chain, i})
			}
			return true
		case s.does == leads && s.under <= byInterface && !b.onlyDrops(s.target):
			b.walk(s.target)
		}
	}
	return false
}

// onlyDrops reports a chain that is a drop under another name.
func (b *chainWalk) onlyDrops(chain string) bool {
	for _, s := range b.chains[chain] {
		switch {
		case s.does == drops && s.under == always:
			return true
		case s.does == tells, s.does == drops && s.under == byProtocol:
		default:
			return false
		}
	}
	return false
}

func (b *chainWalk) closelyReached(chain string) bool {
	for _, steps := range b.chains {
		if slices.ContainsFunc(steps, func(s step) bool { return s.does == leads && s.target == chain && s.under > byInterface }) {
			return true
		}
	}
	return false
}
