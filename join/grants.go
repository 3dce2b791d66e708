package join

import (
	"context"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// Networks is the right to write the networks that hosts share. Hosts that keep the store
// have it, and hosts to which an operator grants it.
const Networks = "networks"

// CheckRights refuses unknown rights.
func CheckRights(all []string) error {
	for _, r := range all {
		if r != Networks {
			return heddle.Errorf(heddle.BadArgument, "use right", heddle.Clip(r), "there is no such right",
				"give the right "+Networks+", the only one")
		}
	}
	return nil
}

// Grant gives a host rights that otherwise only hosts that keep the store have. The host
// keeps the rights that it has already.
func (o *Operator) Grant(ctx context.Context, name string, rights []string) error {
	return o.allow(ctx, name, rights, func(h admitted) ([]string, error) {
		return slices.Compact(slices.Sorted(slices.Values(slices.Concat(h.May, rights)))), nil
	})
}

// Revoke takes back what Grant gave. A host that keeps the store has all rights anyway.
func (o *Operator) Revoke(ctx context.Context, name string, rights []string) error {
	return o.allow(ctx, name, rights, func(h admitted) ([]string, error) {
		if h.keeper {
			return nil, heddle.Errorf(heddle.BadArgument, "revoke rights of host", name,
				"it keeps the store, and so may write "+strings.Join(rights, ", "),
				"demote it first ('heddle host demote "+name+"')")
		}
		return slices.DeleteFunc(slices.Clone(h.May), func(r string) bool { return slices.Contains(rights, r) }), nil
	})
}

// allow changes a host's rights. The record is changed first: if changing the store's
// rights fails here, the leading member does it.
func (o *Operator) allow(ctx context.Context, name string, rights []string, next func(admitted) ([]string, error)) error {
	if err := CheckRights(rights); err != nil {
		return err
	}
	return retryWhileDown(ctx, func() error { return o.setRights(ctx, name, next) })
}

func (o *Operator) setRights(ctx context.Context, name string, next func(admitted) ([]string, error)) error {
	for {
		h, err := o.host(ctx, name)
		if err == nil && h == nil {
			err = noHostError(name)
		}
		if err != nil {
			return err
		}
		before := h.May
		if h.May, err = next(*h); err != nil {
			return err
		}
		done := slices.Equal(before, h.May)
		if done && o.rehearses {
			return &store.Rehearsed{}
		}
		if !done {
			done, err = o.tryReplaceAdmission(ctx, *h)
		}
		if err != nil {
			return err
		}
		if done {
			_, err = o.syncRights(ctx, name)
			return err
		}
	}
}

// MayWriteNetworks says why this host may not write networks that hosts share. It returns
// nil if the host may, or if this is unknown: then the store decides.
func (n *Node) MayWriteNetworks(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, admittedTime)
	defer cancel()
	h, err := roster{store: n.store}.host(ctx, n.me.Name)
	n.mu.Lock()
	keeps := n.record.Member
	n.mu.Unlock()
	if keeps || err != nil || h == nil || h.writesNetworks() {
		return nil
	}
	where := ""
	if who := n.writers(ctx); len(who) > 0 {
		where = "call on " + strings.Join(who, ", ") + ", or "
	}
	return heddle.Errorf(heddle.NotGranted, "write networks that hosts share on host", n.me.Name, "no operator has granted it",
		where+"have an operator grant it: 'heddle host grant "+n.me.Name+" "+Networks+"' on a host that keeps the store")
}

// writers names the hosts that may write networks.
func (n *Node) writers(ctx context.Context) []string {
	var all []string
	for name := range n.Roles() {
		all = append(all, name)
	}
	admitted, _ := n.Admitted(ctx) // only a hint: without it, the hosts that keep the store are enough
	for _, a := range admitted {
		if slices.Contains(a.May, Networks) && !slices.Contains(all, a.Name) {
			all = append(all, a.Name)
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(all, func(name string) bool { return name == "" })
}
