package eni

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// State is what a cloud's words say of a NIC. A word that nobody knows is Busy.
type State int

const (
	Busy      State = iota // the cloud is about to change it
	Free                   // it is attached to nothing
	Attaching              // to NIC.Instance
	Attached               // to NIC.Instance
	Detaching              // the machine has not let go of it yet
	Failed                 // the cloud failed to make it
)

// NIC is a NIC as a cloud describes it.
type NIC struct {
	ID    string
	State State
	// Word is the cloud's for the state, for people.
	Word string
	// Instance is the machine that has it, Attachment the cloud's name for that, where it has one. A loose NIC would stay when its instance goes, and need not.
	Instance, Attachment string
	Loose                bool
	// Apart is that it takes no room of those that Limits counts.
	Apart  bool
	Subnet string
	MAC    heddle.MAC
	// Made is when it was made. Of two such texts the later one is greater.
	Made string
	Tags map[string]string
	// First is its first IPv4 address, if it has one; Fours are the others, and Sixes are all of IPv6.
	First        netip.Addr
	Fours, Sixes []netip.Addr
	// Blocks are prefixes of both families that it was given whole.
	Blocks []netip.Prefix
}

// addrs are the NIC's first addresses, at most one of each family. The IPv6 address is one that goes with no further IPv4 address.
func (n NIC) addrs() (all []netip.Addr) {
	if n.First.IsValid() {
		all = append(all, n.First)
	}
	for _, mayBe := range []func(a netip.Addr) bool{
		func(a netip.Addr) bool { return !origin(a).IsValid() },
		func(a netip.Addr) bool { return !slices.Contains(n.Fours, origin(a)) },
	} {
		if i := slices.IndexFunc(n.Sixes, mayBe); i >= 0 {
			return append(all, n.Sixes[i])
		}
	}
	return all
}

// spare begins the token of a NIC that is there twice: an agent was killed when it had ordered one, and ordered another before
// the cloud listed the first. Its ID in the cloud follows. No endpoint has such a token, so the agent has it taken out.
const spare = "x-"

// isWith reports whether the machine has the NIC, or is about to get it.
func (n NIC) isWith(machine string) bool {
	return n.Instance == machine && (n.State == Attached || n.State == Attaching)
}

// byToken returns the NICs by their tokens. Of several with one token that counts which is with the machine, and the others are spare. As long as none
// is, it is the newest, and none is spare: an order may be about to attach any of them.
func byToken(all []NIC, machine string) map[string]NIC {
	found := map[string]NIC{}
	slices.SortFunc(all, func(a, b NIC) int {
		return cmp.Or(cmp.Compare(rank(b, machine), rank(a, machine)), strings.Compare(b.Made, a.Made), strings.Compare(a.ID, b.ID))
	})
	for _, n := range all {
		token := n.Tags[TagToken]
		first, is := found[token]
		switch {
		case nic.CheckToken(token) != nil || strings.HasPrefix(token, spare): // no agent made it
			found[spare+n.ID] = n
		case !is:
			found[token] = n
		case first.isWith(machine) && n.State == Free:
			found[spare+n.ID] = n
		}
	}
	return found
}

// rank says which of several NICs with one token counts.
func rank(n NIC, machine string) int {
	if n.isWith(machine) {
		return 1
	}
	return 0
}

// Filter picks NICs; what is empty picks all.
type Filter struct{ ID, Instance, Machine, Token string }

// picks reports whether the filter picks a NIC.
func (f Filter) picks(n NIC) bool {
	return (f.ID == "" || n.ID == f.ID) && (f.Instance == "" || n.Instance == f.Instance) &&
		(f.Machine == "" || n.Tags[TagMachine] == f.Machine) && (f.Token == "" || n.Tags[TagToken] == f.Token)
}

// find asks for NICs that a filter picks. What an API answers is looked at again: NICs that are none of ours are detached and deleted by nobody's mistake.
func (p *Provider) find(ctx context.Context, object string, f Filter) ([]NIC, error) {
	all, err := p.cloud.Find(ctx, object, f)
	return slices.DeleteFunc(all, func(n NIC) bool { return !f.picks(n) }), err
}

// ours asks for the NICs that were ordered for this machine; with a token, for those of the token.
func (p *Provider) ours(ctx context.Context, token string) ([]NIC, error) {
	return p.find(ctx, p.me.ID, Filter{Machine: p.me.ID, Token: token})
}
