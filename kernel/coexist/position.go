package coexist

import "slices"

// Our accept rules go behind the rules of another firewall that are about certain packets, and
// before those that drop all other packets. The code below knows neither nftables nor iptables.

// A step is what a rule means for the position of our rules.
type step struct {
	does effect
	// target is the chain that the rule leads to, if any; under says for which packets.
	target string
	under  condition
}

type effect int

const (
	decides effect = iota // something about the packets that it describes, which does not matter here
	tells                 // logs or counts; the packet goes on
	drops                 // drops packets under its condition
	leads                 // leads to a chain
)

// A condition is how closely a rule looks at a packet before it acts.
type condition int

const (
	always      condition = iota
	byInterface           // it compares only an interface that is not ours
	byProtocol            // it compares only the protocol, and answers as the protocol does (a TCP reset)
	closely
)

// An insertPosition is a gap in a chain: before the rule with that index, or at the end.
type insertPosition struct {
	chain  string
	before int
}

// chainWalk is a walk through the filter of another firewall.
type chainWalk struct {
	// chains are the steps of each chain, without our own rules.
	chains map[string][]step
	// shared are chains that we cannot insert rules into. Rules with a close condition lead to
	// them, too, and our rules would disable the drops that are meant for those packets.
	shared []string
	seen   map[string]bool
	found  []insertPosition
}

// insertPositions finds the gaps, beginning with the base chain; policyDrops says that the policy
// of the base chain is drop. It returns in shared the chains that drop all packets but cannot have
// rules of ours.
func insertPositions(base string, policyDrops bool, chains map[string][]step) (found []insertPosition, shared []string) {
	b := chainWalk{chains: chains, seen: map[string]bool{}}
	if !b.walk(base) && policyDrops {
		b.found = append(b.found, insertPosition{base, len(chains[base])})
	}
	return b.found, b.shared
}

// walk looks through a chain and the chains that it leads to, and reports whether it ends with a
// drop of all remaining packets.
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

// onlyDrops reports whether a chain is only another name for a drop.
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
