package main

import (
	"context"
	"fmt"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/join"
)

// useAuthority acts with an operator's credential, in a call about the authority's key.
func (h hosts) useAuthority(ctx context.Context, credential string, dryRun bool, act func(context.Context, *join.Operator) error) error {
	if h.node == nil {
		return heddle.Errorf(heddle.NoStore, "use", "the authority's key", externalStore,
			"issue the etcd's certificates with your own authority")
	}
	return h.operate(ctx, credential, dryRun, act)
}

// Authority implements api.AuthorityKeys.
func (h hosts) Authority(ctx context.Context, q client.AuthorityRequest) (client.Authority, error) {
	var a join.Authority
	err := h.useAuthority(ctx, q.Credential, q.DryRun, func(ctx context.Context, o *join.Operator) (err error) {
		a, err = changeCustody(ctx, o, q)
		return err
	})
	if q.DryRun && q.Do != client.AuthorityShow {
		lines, err := rehearsed(err)
		if err == nil {
			lines = append(lines, "# "+custodyChanges[q.Do])
		}
		return client.Authority{Keepers: []client.AuthorityKeeper{}, Commands: lines}, err
	}
	shown := client.Authority{Withdrawn: a.Withdrawn, By: a.By, Keepers: []client.AuthorityKeeper{}}
	for _, k := range a.Keepers {
		shown.Keepers = append(shown.Keepers, client.AuthorityKeeper{Name: k.Host, Disk: k.Disk, Lent: k.Lent, Problem: k.Problem})
	}
	return shown, err
}

// custodyChanges say what the hosts that keep the store do then.
var custodyChanges = map[string]string{
	client.AuthorityWithdraw: "every host that keeps the store deletes the authority's key from its disk",
	client.AuthorityLend:     "every host that keeps the store gets the authority's key in memory, for that time",
	client.AuthorityReturn:   "every host that keeps the store writes the authority's key to its disk",
}

func changeCustody(ctx context.Context, o *join.Operator, q client.AuthorityRequest) (join.Authority, error) {
	switch q.Do {
	case client.AuthorityShow:
		return o.Authority(ctx)
	case client.AuthorityWithdraw:
		return o.WithdrawAuthority(ctx, []byte(q.Key))
	case client.AuthorityLend:
		return o.LendAuthority(ctx, []byte(q.Key), time.Duration(q.Seconds)*time.Second)
	case client.AuthorityReturn:
		return o.ReturnAuthority(ctx, []byte(q.Key))
	}
	return join.Authority{}, heddle.Errorf(heddle.BadArgument, "manage", "the authority's key",
		fmt.Sprintf("there is no act %q", heddle.Clip(q.Do)), "give show, withdraw, lend or return")
}

// AuthorityKey implements api.AuthorityKeys.
func (h hosts) AuthorityKey(ctx context.Context, q client.AuthorityKeyRequest) (client.AuthorityKey, error) {
	var key []byte
	err := h.useAuthority(ctx, q.Credential, false, func(_ context.Context, o *join.Operator) (err error) {
		key, err = o.ExportAuthority()
		return err
	})
	return client.AuthorityKey{Key: string(key)}, err
}

// authorityPart is the status of the authority's key, and of a certificate that nobody can
// renew. It asks no other host.
func (h hosts) authorityPart() heddle.PartStatus { return authorityStatus(h.node.Custody()) }

func authorityStatus(c join.Custody) heddle.PartStatus {
	p := heddle.PartStatus{Name: "authority", State: "ok", Detail: "its key is on the hosts that keep the store"}
	if !c.Known {
		p.Detail = "where its key is is not known yet: the store has not answered"
		return p
	}
	if c.Withdrawn.IsZero() {
		if c.Keeper && !c.Holding.Disk {
			p.State, p.Detail = "warn", "its key is not on this host, which keeps the store: 'heddle host authority return FILE' puts it there"
		}
		return p
	}
	p.Detail = "its key is off the hosts since " + formatDate(c.Withdrawn)
	if !c.Holding.Lent.IsZero() {
		p.Detail += ", and lent to this host until " + c.Holding.Lent.UTC().Format("15:04:05 UTC")
	}
	switch {
	case c.Holding.Disk:
		p.State, p.Detail = "warn", p.Detail+", and still on this host's disk: it is deleted when the store answers"
	case c.Due:
		p.State, p.Detail = "warn", fmt.Sprintf("%s: this host's certificate ends on %s, and nobody can renew it; an operator lends the key ('heddle host authority lend FILE')", p.Detail, formatDate(c.Ends))
	}
	return p
}

func formatDate(t time.Time) string { return t.UTC().Format("2006-01-02") }
