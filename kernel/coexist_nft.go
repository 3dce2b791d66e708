package kernel

import (
	"errors"
	"os"
	"slices"

	heddle "github.com/heddle-network/heddle"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"
)

// A forwardChain is somebody else's base chain at the forward hook.
type forwardChain struct {
	*nftables.Chain
	ours      []*nftables.Rule
	couldDrop bool
}

// admitNft is Admit for nftables, which includes the chains of iptables-nft.
func (c *Coexist) admitNft() (changed []string, err error) {
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

// readAtRest reads the chains, again if somebody changed the ruleset meanwhile:
// a reload is many commits, and a list read amid them may lack rules of ours,
// which would then be there twice. When it does not come to rest, the last list
// has to do: twice is untidy, but stops nobody.
func (c *Coexist) readAtRest() (chains []forwardChain, read uint32, atRest bool, err error) {
	for range 3 {
		before, gerr := generation(c.gen)
		if gerr != nil {
			return nil, 0, false, gerr
		}
		chains, err = c.forwardChains()
		read, gerr = generation(c.gen)
		if gerr == nil && read == before {
			return chains, read, true, err
		}
	}
	return chains, read, false, err
}

// admitTo inserts what the chain lacks.
func (c *Coexist) admitTo(f forwardChain) ([]string, error) {
	missing := f.missing()
	if !f.couldDrop || len(missing) == 0 {
		return nil, nil
	}
	var typed []string
	err := c.batch(func(conn *nftables.Conn) {
		// Each goes before the last, so the last comes first.
		for _, a := range slices.Backward(missing) {
			conn.InsertRule(&nftables.Rule{Table: f.Table, Chain: f.Chain, Exprs: a.exprs(), UserData: markData})
		}
		for _, a := range missing {
			typed = append(typed, a.nft(f.Chain))
		}
	})
	switch {
	case err == nil:
		return typed, nil
	case errors.Is(err, os.ErrNotExist):
		// A reload removed the chain meanwhile; its return is a change of its own.
		return nil, nil
	case errors.Is(err, os.ErrPermission):
		// Who may list but not insert meets a table that a process owns, such as
		// firewalld's since 2.1.
		c.notes = append(c.notes, chainTitle(f.Chain)+" belongs to a running program (flags owner): let it accept forwarding by "+
			heddle.PrefixBridge+"* and "+heddle.PrefixPort+"* itself, or give up the ownership (firewalld: NftablesTableOwner=no)")
		return nil, nil
	}
	return nil, heddle.Wrap(heddle.KernelRefused, "insert our accept rules into", chainTitle(f.Chain), err, "")
}

func (c *Coexist) withdrawNft() error {
	c.settled = false
	chains, err := c.forwardChains()
	for _, f := range chains {
		for _, r := range f.ours {
			// One by one: a rule that is gone must not keep the others.
			derr := c.batch(func(conn *nftables.Conn) { conn.DelRule(r) })
			if derr != nil && !errors.Is(derr, os.ErrNotExist) {
				err = errors.Join(err, heddle.Wrap(heddle.KernelRefused, "remove our accept rule from", chainTitle(f.Chain), derr, ""))
			}
		}
	}
	return err
}

func (c *Coexist) admittedNft() ([]string, error) {
	chains, err := c.forwardChains()
	var all []string
	for _, f := range chains {
		for _, a := range admissions {
			if slices.ContainsFunc(f.ours, a.is) {
				all = append(all, a.nft(f.Chain))
			}
		}
	}
	return all, err
}

// batch commits what fill asks for on a socket of its own: an error leaves
// unread replies behind, which a lasting one would take for the next's.
func (c *Coexist) batch(fill func(*nftables.Conn)) error {
	conn, err := nftables.New(nftables.WithNetNSFd(int(c.ns.Fd())))
	if err != nil {
		return err
	}
	fill(conn)
	return conn.Flush()
}

// forwardChains reads the foreign base chains at the forward hook. One that
// cannot be read does not keep the others.
func (c *Coexist) forwardChains() (all []forwardChain, err error) {
	chains, err := c.dump.ListChains()
	if err != nil {
		return nil, heddle.Wrap(heddle.KernelRefused, "list the nftables chains", "", err, "")
	}
	for _, chain := range chains {
		if !isForeignForward(chain) {
			continue
		}
		rules, rerr := c.dump.GetRules(chain.Table, chain)
		if rerr != nil {
			err = errors.Join(err, heddle.Wrap(heddle.KernelRefused, "list the rules of", chainTitle(chain), rerr, ""))
			continue
		}
		all = append(all, newForwardChain(chain, rules))
	}
	return all, err
}

func isForeignForward(c *nftables.Chain) bool {
	switch c.Table.Family {
	case nftables.TableFamilyIPv4, nftables.TableFamilyIPv6, nftables.TableFamilyINet:
		return c.Hooknum != nil && *c.Hooknum == unix.NF_INET_FORWARD && c.Table.Name != heddle.Mark
	}
	return false
}

func newForwardChain(chain *nftables.Chain, rules []*nftables.Rule) forwardChain {
	f := forwardChain{Chain: chain}
	f.couldDrop = chain.Policy != nil && *chain.Policy == nftables.ChainPolicyDrop
	for _, r := range rules {
		if isAdmission(r) {
			r.Table, r.Chain = chain.Table, chain
			f.ours = append(f.ours, r)
		} else if mayDrop(r) {
			f.couldDrop = true
		}
	}
	return f
}

func (f forwardChain) missing() []admission {
	var missing []admission
	for _, a := range admissions {
		if !slices.ContainsFunc(f.ours, a.is) {
			missing = append(missing, a)
		}
	}
	return missing
}
