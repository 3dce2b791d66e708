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

// Kernel is a handle on one network namespace: that of the thread which called Open. Its methods
// may be called at the same time, also for plans that have objects in common, if Wanted is set.
type Kernel struct {
	// Tripwire, if set, is called before every step of Apply and Remove with the step's name, such
	// as "make link/hd12". An error stops the work as a refusal of the kernel would. Tests use it
	// to reach every half-done state.
	Tripwire func(step string) error
	// Recast, if set, changes the programs and maps of the fast path before they are loaded. Tests
	// use it to make other versions of them, and a Stage to try them with small maps.
	Recast func(*ebpf.CollectionSpec)

	// Wanted, if set, returns how many plans want an object, including the plan that is being
	// applied. When an Apply fails, the objects that it made and another plan wants stay.
	Wanted func(key string) int
	// GivenAway, if set, lists the NICs that containers have. The two ends of a pair may be with
	// two containers.
	GivenAway func() []GivenNIC
	// Lost, if set, is told what a container has removed from a returned NIC and cannot be
	// restored.
	Lost func(nic, what string)

	home *Netns
	// surveys are the searches for devices on a parent's LAN.
	surveys surveys
	// frame is held while the chains and sets of the firewall, and their contents, are compared and
	// changed in one transaction. Plans share much of them, and a removal asks meanwhile whether
	// another plan wants an object.
	frame sync.Mutex
	// rt and nft change objects and read single ones. A listing takes long on a full host, so it
	// has sockets of its own, and no attach waits for it.
	rt, nft         *conn
	listRt, listNft *conn
	// deleters delete links; idle hands out the deleters that are not in use.
	deleters []*conn
	idle     chan *conn
	// stripped holds the NICs on the host whose stacked devices have been removed, and whose return
	// is not complete.
	stripped sync.Map
	held     []heldFolder
	fast     fastPath
}

// deletersMany is how many links can be deleted at the same time.
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
		k.listRt.inParts = true
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

// Close closes the handle. Objects stay.
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

// shared reports whether a plan other than the one being applied wants an object.
func (k *Kernel) shared(key string) bool { return k.Wanted != nil && k.Wanted(key) > 1 }
