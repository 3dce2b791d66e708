package coexist

import (
	"errors"
	"os"
	"slices"

	"github.com/heddle-network/heddle"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"
)

// A foreignFilter is a base chain of somebody else at the forward hook, with the chains of its
// table that it leads to.
type foreignFilter struct {
	base   *nftables.Chain
	chains map[string]*foreignChain
}

// A foreignChain is a chain of somebody else, with or without rules of ours.
type foreignChain struct {
	*nftables.Chain
	theirs []*nftables.Rule
	ours   []ownRule
}

// An ownRule is a rule of ours, with the number of others' rules before it.
type ownRule struct {
	*nftables.Rule
	behind int
}

// admitNft is Admit for nftables, which includes the chains of iptables-nft.
func (c *Firewalls) admitNft() (changed []string, err error) {
	now, err := generation(c.gen)
	if err != nil || c.settled && c.seen == now {
		return nil, err
	}
	c.settled, c.notes = false, nil
	chains, read, atRest, err := c.readAtRest()
	for _, f := range chains {
		more, ferr := c.admitTo(f)
		changed, err = append(changed, more...), errors.Join(err, ferr)
	}
	c.settled, c.seen = atRest && err == nil && len(changed) == 0, read
	return changed, err
}

// readAtRest reads the chains, and again if somebody changed the ruleset meanwhile. A reload is
// many commits, and a list that is read between them may lack rules of ours, which would then be
// added twice. If the ruleset keeps changing, the last list is used: a rule that is there twice
// does no harm.
func (c *Firewalls) readAtRest() (all []foreignFilter, read uint32, atRest bool, err error) {
	for range 3 {
		before, gerr := generation(c.gen)
		if gerr != nil {
			return nil, 0, false, gerr
		}
		all, err = c.filters()
		read, gerr = generation(c.gen)
		if gerr == nil && read == before {
			return all, read, true, err
		}
	}
	return all, read, false, err
}

// admitTo puts our rules where they belong, and removes them from other positions.
func (c *Firewalls) admitTo(f foreignFilter) ([]string, error) {
	var typed []string
	found, shared := f.insertPositions()
	for _, name := range shared {
		c.notes = append(c.notes, chainTitle(f.chains[name].Chain)+" ends with a drop of all that is left, and is led to by closer rules, too, "+
			"whose drops an accept rule there would void: accept forwarding by "+heddle.PrefixBridge+"* and "+heddle.PrefixPort+"* before it")
	}
	err := c.batch(func(conn *nftables.Conn) {
		for name, chain := range f.chains {
			i := slices.IndexFunc(found, func(p insertPosition) bool { return p.chain == name })
			if i >= 0 && chain.settled(found[i].before) {
				continue
			}
			for _, r := range chain.ours {
				conn.DelRule(r.Rule)
			}
			if i >= 0 {
				typed = append(typed, chain.put(conn, found[i].before)...)
			}
		}
	})
	switch {
	case err == nil:
		return typed, nil
	case errors.Is(err, os.ErrNotExist):
		// A reload has removed the chain meanwhile. When the chain returns, that is another change.
		return nil, nil
	case errors.Is(err, os.ErrPermission):
		// The kernel lists the table but refuses an insert: a process owns the table, such as
		// firewalld since 2.1.
		c.notes = append(c.notes, chainTitle(f.base)+" belongs to a running program (flags owner): let it accept forwarding by "+
			heddle.PrefixBridge+"* and "+heddle.PrefixPort+"* itself, or give up the ownership (firewalld: NftablesTableOwner=no)")
		return nil, nil
	}
	return nil, heddle.Wrap(heddle.KernelRefused, "insert our accept rules into", chainTitle(f.base), err, seeRuleset)
}

// settled reports whether all our rules stand in order behind the given number of others' rules.
func (c *foreignChain) settled(behind int) bool {
	if len(c.ours) != len(admissions) {
		return false
	}
	for i, a := range admissions {
		if c.ours[i].behind != behind || !a.is(c.ours[i].Rule) {
			return false
		}
	}
	return true
}

// put adds our rules behind the given number of others' rules, and returns them as a person would
// type them.
func (c *foreignChain) put(conn *nftables.Conn, behind int) (typed []string) {
	for _, a := range admissions {
		r := &nftables.Rule{Table: c.Table, Chain: c.Chain, Exprs: a.exprs(), UserData: markData}
		if behind == len(c.theirs) {
			conn.AddRule(r)
		} else {
			r.Position = c.theirs[behind].Handle
			conn.InsertRule(r)
		}
		typed = append(typed, a.nft(c.Chain, r.Position))
	}
	return typed
}

func (c *Firewalls) withdrawNft() error {
	c.settled = false
	all, err := c.filters()
	for _, f := range all {
		for _, chain := range f.chains {
			for _, r := range chain.ours {
				// One by one: a rule that is gone must not stop the others.
				derr := c.batch(func(conn *nftables.Conn) { conn.DelRule(r.Rule) })
				if derr != nil && !errors.Is(derr, os.ErrNotExist) {
					err = errors.Join(err, heddle.Wrap(heddle.KernelRefused, "remove our accept rule from", chainTitle(chain.Chain), derr, seeRuleset))
				}
			}
		}
	}
	return err
}

func (c *Firewalls) admittedNft() ([]string, error) {
	filters, err := c.filters()
	var all []string
	for _, f := range filters {
		for _, chain := range f.chains {
			for _, a := range admissions {
				i := slices.IndexFunc(chain.ours, func(r ownRule) bool { return a.is(r.Rule) })
				if i < 0 {
					continue
				}
				before := uint64(0)
				if behind := chain.ours[i].behind; behind < len(chain.theirs) {
					before = chain.theirs[behind].Handle
				}
				all = append(all, a.nft(chain.Chain, before))
			}
		}
	}
	return all, err
}

// batch commits the requests of fill on a socket of its own. An error leaves unread replies in the
// socket, and on a shared socket the next request would read them.
func (c *Firewalls) batch(fill func(*nftables.Conn)) error {
	conn, err := nftables.New(nftables.WithNetNSFd(int(c.ns.Fd())))
	if err != nil {
		return err
	}
	fill(conn)
	return conn.Flush()
}

// filters reads the foreign base chains at the forward hook, and the chains that they lead to. A
// chain that cannot be read does not stop the others.
func (c *Firewalls) filters() (all []foreignFilter, err error) {
	chains, err := c.dump.ListChains()
	if err != nil {
		return nil, heddle.Wrap(heddle.KernelRefused, "list", "the nftables chains", err, seeRuleset)
	}
	for _, chain := range chains {
		if !isForeignForward(chain) {
			continue
		}
		f := foreignFilter{base: chain, chains: map[string]*foreignChain{}}
		if rerr := c.readInto(f, chain, chains); rerr != nil {
			err = errors.Join(err, heddle.Wrap(heddle.KernelRefused, "list the rules of", chainTitle(chain), rerr, seeRuleset))
			continue
		}
		all = append(all, f)
	}
	return all, err
}

// readInto reads a chain and the chains of its table that it leads to.
func (c *Firewalls) readInto(f foreignFilter, chain *nftables.Chain, all []*nftables.Chain) error {
	rules, err := c.dump.GetRules(chain.Table, chain)
	if err != nil {
		return err
	}
	read := newForeignChain(chain, rules)
	f.chains[chain.Name] = read
	for _, r := range read.theirs {
		s := stepOf(r)
		if s.does != leads || f.chains[s.target] != nil {
			continue
		}
		for _, next := range all {
			if next.Name == s.target && next.Table.Name == chain.Table.Name && next.Table.Family == chain.Table.Family {
				if err := c.readInto(f, next, all); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func isForeignForward(c *nftables.Chain) bool {
	switch c.Table.Family {
	case nftables.TableFamilyIPv4, nftables.TableFamilyIPv6, nftables.TableFamilyINet:
		return c.Hooknum != nil && *c.Hooknum == unix.NF_INET_FORWARD && c.Table.Name != heddle.Mark
	}
	return false
}

func newForeignChain(chain *nftables.Chain, rules []*nftables.Rule) *foreignChain {
	c := &foreignChain{Chain: chain}
	for _, r := range rules {
		if isAdmission(r) {
			r.Table, r.Chain = chain.Table, chain
			c.ours = append(c.ours, ownRule{r, len(c.theirs)})
		} else {
			c.theirs = append(c.theirs, r)
		}
	}
	return c
}

// insertPositions finds the gaps for our rules.
func (f foreignFilter) insertPositions() (found []insertPosition, shared []string) {
	steps := map[string][]step{}
	for name, c := range f.chains {
		for _, r := range c.theirs {
			steps[name] = append(steps[name], stepOf(r))
		}
	}
	return insertPositions(f.base.Name, f.base.Policy != nil && *f.base.Policy == nftables.ChainPolicyDrop, steps)
}
