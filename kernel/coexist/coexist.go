// Package coexist lets our forwarded traffic through the forward chains of other firewalls, and
// changes nothing else in them.
//
// In netfilter a drop in any base chain is final, and an accept ends only its own chain. So the
// policy of dockerd or ufw, or the last reject rule of firewalld, stops what our own table has
// accepted:
//
//	hook forward  -10  inet heddle forward              drops what must not pass
//	                0  ip filter FORWARD                policy drop   <- admitted
//	              +10  inet firewalld filter_FORWARD    ... reject    <- admitted
//
// Admitted means: four rules of ours accept what comes from or goes to our devices. They stand
// behind the chain's rules about certain packets, and before it drops all other packets. So a rule
// that drops certain packets holds for our packets, too. Our own table has dropped before what must
// not pass by our own rules.
package coexist

import (
	"errors"
	"os"
	"sync"

	"github.com/heddle-network/heddle"

	"github.com/google/nftables"
	"github.com/vishvananda/netlink/nl"
)

// seeRuleset is the remedy where the kernel refuses a request about the ruleset.
const seeRuleset = "see whether 'nft list ruleset' works on the host"

// Firewalls are the firewalls of others in one network namespace.
//
// The legacy tables are reached by a program that runs in its caller's namespace, so all methods
// must be called in the namespace of Open.
type Firewalls struct {
	mu     sync.Mutex
	ns     *os.File
	dump   *nftables.Conn
	gen    *nl.SocketHandle
	legacy []*legacyForward

	// settled says that the last Admit found nothing to do, at the ruleset's present generation. As
	// long as the generation stays, nobody has changed any rule.
	settled bool
	seen    uint32
	notes   []string
}

// Open opens the rulesets of the current network namespace.
func Open() (*Firewalls, error) {
	c := &Firewalls{legacy: newLegacyForwards()}
	if err := c.open(); err != nil {
		c.Close()
		return nil, heddle.Wrap(heddle.KernelRefused, "open", "the nftables ruleset", err, seeRuleset)
	}
	return c, nil
}

func (c *Firewalls) open() (err error) {
	// /proc/self would be the namespace of the main thread, not the caller's.
	if c.ns, err = os.Open("/proc/thread-self/ns/net"); err != nil {
		return err
	}
	c.dump, err = nftables.New(nftables.AsLasting(), nftables.WithNetNSFd(int(c.ns.Fd())))
	if err != nil {
		return err
	}
	c.gen, err = openGeneration(c.ns)
	return err
}

// Close closes the sockets. The rules stay.
func (c *Firewalls) Close() error {
	if c.gen != nil {
		c.gen.Close()
	}
	if c.dump != nil {
		c.dump.CloseLasting()
	}
	return c.ns.Close()
}

// Admit puts our rules in front of the blanket drop of every foreign forward chain, which is its
// last rule or its policy. It returns the rules that it added, as a person would type them. If
// somebody adds rules behind ours, Admit moves ours behind them. If nftables has not changed since
// the last call, it costs one netlink round trip, and one process per family whose legacy table is
// in use.
func (c *Firewalls) Admit() (changed []string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed, err = c.admitNft()
	for _, l := range c.legacy {
		more, lerr := l.admit()
		changed, err = append(changed, more...), errors.Join(err, lerr)
	}
	return changed, err
}

// Stale reports whether somebody has changed nftables since the last Admit that found nothing to
// do. It costs one netlink round trip. It does not look at legacy tables.
func (c *Firewalls) Stale() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, err := generation(c.gen)
	return err == nil && !(c.settled && c.seen == now)
}

// Withdraw removes exactly the rules that Admit inserted.
func (c *Firewalls) Withdraw() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.withdrawNft()
	for _, l := range c.legacy {
		err = errors.Join(err, l.withdraw())
	}
	return err
}

// Admitted lists our rules that are in the chains now.
func (c *Firewalls) Admitted() ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, err := c.admittedNft()
	for _, l := range c.legacy {
		more, lerr := l.admitted()
		all, err = append(all, more...), errors.Join(err, lerr)
	}
	return all, err
}

// Notes says what the last Admit had to leave as it is, and only the operator of the host can
// change.
func (c *Firewalls) Notes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := append([]string(nil), c.notes...)
	for _, l := range c.legacy {
		if l.note != "" {
			all = append(all, l.note)
		}
	}
	return all
}
