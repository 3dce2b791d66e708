package join

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// Options of a node.
type Options struct {
	// Dir holds the host's certificates and, if it keeps the store, the store's data.
	Dir string
	// Name of the host in the cluster; Underlay its addresses, at most one of each
	// family.
	Name     string
	Underlay []netip.Addr
	// MTU of the interface with these addresses. It is only remembered.
	MTU int
	// Join is a host that keeps the store, Token one of the cluster's; both are
	// empty for the first host. A host that has joined needs them no more.
	Join, Token string
	// ForceNew drops the store's other members, which are lost. From then on, this host's
	// member is the only one.
	ForceNew bool
	// Now is the clock, Log must be set.
	Now func() time.Time
	Log *slog.Logger
}

// record is what the host is in its cluster.
type record struct {
	identity
	// Cluster is the authority's fingerprint.
	Cluster  string       `json:"cluster"`
	Underlay []netip.Addr `json:"underlay"`
	MTU      int          `json:"mtu,omitempty"`
	// Founder made the cluster; Enabled says that it has turned the store's access
	// control on.
	Founder bool `json:"founder,omitempty"`
	Enabled bool `json:"enabled,omitempty"`
	// Member keeps the store, and started with these members' peer URLs by name.
	Member  bool              `json:"member,omitempty"`
	Initial map[string]string `json:"initial,omitempty"`
	// Forced says that it dropped the other members when it was last started.
	Forced bool `json:"forced,omitempty"`
	// KeyAway says that it keeps the store without the authority's key.
	KeyAway bool `json:"keyAway,omitempty"`
}

// Node is a host of a cluster with an embedded store.
type Node struct {
	opt  Options
	dir  folder
	log  *slog.Logger
	ca   *x509.Certificate
	me   identity
	host atomic.Pointer[pair]
	// refused is why the store does not accept the host's certificate; nil if it does.
	refused atomic.Pointer[error]
	// withdrawn is the withdrawal of the authority's key as last known; its time is zero if
	// there is none. nil: the store has not answered yet.
	withdrawn atomic.Pointer[withdrawal]
	stop      context.CancelFunc
	done      sync.WaitGroup

	// roleMu is held while changing whether the host keeps the store. It is locked before mu.
	roleMu sync.Mutex
	// addMu is held while adding a member of the store.
	addMu sync.Mutex
	// mu guards what follows.
	mu        sync.Mutex
	record    record
	endpoints []string
	members   []member
	store     *store.Etcd
	// what members of the store have
	keys   *keys
	server *store.Server
	door   *door
	admin  *roster
}

// keys are what a member of the store has in addition to a host's own keys.
type keys struct {
	// authority is without its key while that is off the hosts' disks; it may be lent.
	authority authority
	lent      loan
	operator  pair
	// serving is the member's own certificate as a server.
	serving pair
}

// Open restores the host's part in its cluster, lets it join one, or founds one. It does
// not wait for the store of a cluster that the host already belongs to.
func Open(ctx context.Context, opt Options) (*Node, error) {
	n := &Node{opt: opt, dir: folder(opt.Dir), log: opt.Log}
	if err := CheckHostName(opt.Name); err != nil {
		return nil, err
	}
	known := n.dir.has(fileRecord)
	if known && opt.Join != "" && n.unfounded() {
		known = false // it was about to found a cluster of its own, and never did so
		if err := n.forget(); err != nil {
			return nil, err
		}
	}
	if !known {
		enter := n.foundCluster
		if opt.Join != "" {
			enter = n.join
		}
		if err := enter(ctx); err != nil {
			return nil, err
		}
	}
	err := n.load()
	if err == nil && known {
		err = n.checkOptions(ctx)
	}
	if r := n.record; err == nil && (r.MTU != opt.MTU || !slices.Equal(r.Underlay, n.opt.Underlay)) {
		r.MTU, r.Underlay = opt.MTU, n.opt.Underlay
		err = n.saveLocked(r)
	}
	if err == nil {
		err = n.start(ctx)
	}
	if err == nil {
		return n, nil
	}
	err = errors.Join(err, n.Close())
	if !known && n.unfounded() {
		err = errors.Join(err, n.forget())
	}
	return nil, err
}

// checkOptions compares the options with what the host is in its cluster.
func (n *Node) checkOptions(ctx context.Context) error {
	if n.opt.Name != n.record.Name {
		return heddle.Errorf(heddle.HostExists, "start host", n.opt.Name, "in its cluster this host is "+n.record.Name,
			"start the agent with --name "+n.record.Name+"; to join under another name, remove the host, move "+string(n.dir)+" away and join again")
	}
	if n.opt.Token != "" {
		t, err := parseToken(n.opt.Token)
		if err != nil {
			return err
		}
		if t.pin != fingerprint(n.ca) {
			return heddle.Errorf(heddle.StoreStrange, "start host", n.record.Name, "it belongs to another cluster than the token",
				"leave --join and --token out; to change clusters, remove the host, move "+string(n.dir)+" away and join again")
		}
	}
	if n.record.Member && slices.Contains(n.opt.Underlay, n.record.Underlay[0]) && within(n.opt.Underlay, n.record.Underlay) {
		n.opt.Underlay = n.record.Underlay // the second address has not appeared yet
	}
	if n.record.Member && !slices.Equal(n.opt.Underlay, n.record.Underlay) {
		return heddle.Errorf(heddle.BadArgument, "change underlay address of host", n.record.Name, "it keeps the store at "+joined(n.record.Underlay)+", and not at "+joined(n.opt.Underlay),
			"replace it first by another host ('heddle host replace "+n.record.Name+" OTHER')")
	}
	if checkDates(n.host.Load().cert, n.opt.Now(), "this host", time.Time{}) != nil && !n.record.Member && n.opt.Join != "" && n.opt.Token != "" {
		if err := n.join(ctx); err != nil { // the token replaces the old certificate
			return err
		}
		return n.load()
	}
	return nil
}

func within(some, all []netip.Addr) bool {
	return !slices.ContainsFunc(some, func(a netip.Addr) bool { return !slices.Contains(all, a) })
}

func joined(addrs []netip.Addr) string {
	var all []string
	for _, a := range addrs {
		all = append(all, a.String())
	}
	return strings.Join(all, ",")
}

// Self is the host, as far as this node knows.
func (n *Node) Self() heddle.Host {
	return heddle.Host{Name: n.me.Name, ID: n.me.ID, Underlay: n.opt.Underlay, Version: heddle.Version}
}

// Store is the host's access to the record, with the host's own rights.
func (n *Node) Store() store.Store { return hostStore{n.store, n} }

// Close ends the host's part in the work of the store. The host resumes it at its next start.
func (n *Node) Close() error {
	if n.stop != nil {
		n.stop()
	}
	n.done.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	errs := []error{n.door.close()}
	if n.admin != nil {
		errs = append(errs, n.admin.store.Close())
	}
	if n.store != nil {
		errs = append(errs, n.store.Close())
	}
	if n.server != nil {
		n.server.Close() // the server has logged the error, which Close does not report
	}
	return errors.Join(errs...)
}
