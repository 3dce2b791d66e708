// Package kernel is the one interpreter of plans: it makes, compares and
// removes the objects that a heddle.Plan lists. It writes over netlink from
// sockets opened in the right namespace; only the static part of the firewall
// goes through nft(8), and settings through /proc/sys.
//
//	Apply    makes what is missing, all or nothing
//	Diff     names what is not as planned
//	Remove   takes a plan's objects away again
//	Ours     lists what bears our mark, Prune removes what nobody wants
//	Watch    says when something of ours may have changed
package kernel

import (
	"errors"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

// Kernel is a handle on one network namespace: the one that the calling thread
// was in at Open. Its methods may be called at the same time, also for plans that
// have objects in common, if Wanted tells of them.
type Kernel struct {
	// Tripwire, if set, is called before every step of Apply and Remove with
	// the step's name, such as "make link/hd12". An error stops the work as a
	// refusal of the kernel would: so tests reach every half-done state.
	Tripwire func(step string) error
	// Recast, if set, changes the fast path's programs and maps before they are
	// loaded: so tests make other versions of them.
	Recast func(*ebpf.CollectionSpec)

	// Wanted, if set, says how many plans want an object, the one that is being
	// applied included. What another plan wants, too, stays when an Apply that made
	// it fails.
	Wanted func(key string) int
	// GivenAway, if set, lists the NICs that containers have: the two ends of a pair may
	// be with two.
	GivenAway func() []GivenNIC
	// Lost, if set, is told what a container has taken off a NIC that comes home, and
	// nobody can put back.
	Lost func(nic, what string)

	home *Netns
	// frame is held while the firewall's chains and sets, and what is in these, are
	// compared and changed, in one transaction: several plans have much of that in
	// common, and who takes something away asks meanwhile whether a plan wants it.
	frame sync.Mutex
	// rt and nft change things and read single objects; a listing takes long on
	// a full host, and has sockets of its own, so that no attach waits for it.
	rt, nft         *conn
	listRt, listNft *conn
	// deleters delete links; idle hands out those that nobody uses.
	deleters []*conn
	idle     chan *conn
	// stripped are the NICs that were freed, at home, of what stood on them, and are not
	// back for good yet.
	stripped sync.Map
	held     []heldFolder
	fast     fastPath
}

// deletersMany is how many links may be on their way out at a time.
const deletersMany = 16

// Open returns a handle on the calling thread's network namespace.
func Open() (*Kernel, error) {
	home, err := OpenNetns("/proc/thread-self/ns/net")
	if err != nil {
		return nil, err
	}
	k := &Kernel{home: home, idle: make(chan *conn, deletersMany)}
	// All sockets are dialled inside home: the goroutine may have changed
	// threads since, and another thread may be elsewhere.
	err = home.Do(func() (err error) {
		k.held = holdFolders()
		for _, s := range []struct {
			conn     **conn
			protocol int
		}{
			{&k.rt, unix.NETLINK_ROUTE}, {&k.listRt, unix.NETLINK_ROUTE},
			{&k.nft, unix.NETLINK_NETFILTER}, {&k.listNft, unix.NETLINK_NETFILTER},
		} {
			if *s.conn, err = dial(s.protocol); err != nil {
				return err
			}
		}
		return k.dialDeleters()
	})
	if err != nil {
		err = heddle.Wrap(heddle.NoPermission, "open", "netlink sockets", err, "give the agent CAP_NET_ADMIN and CAP_SYS_ADMIN")
		return nil, errors.Join(err, k.Close())
	}
	return k, nil
}

func (k *Kernel) dialDeleters() error {
	for range deletersMany {
		c, err := dial(unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		k.deleters = append(k.deleters, c)
		k.idle <- c
	}
	return nil
}

// Close lets go of the handle. Objects stay.
func (k *Kernel) Close() error {
	var err error
	for _, c := range append([]*conn{k.rt, k.nft, k.listRt, k.listNft}, k.deleters...) {
		if c != nil {
			err = errors.Join(err, c.close())
		}
	}
	for _, h := range k.held {
		h.file.Close()
	}
	k.home.Close()
	if k.fast.fast != nil {
		err = errors.Join(err, k.fast.fast.Close())
	}
	return err
}

// shared reports whether another plan wants an object than the one being applied.
func (k *Kernel) shared(key string) bool { return k.Wanted != nil && k.Wanted(key) > 1 }
