package join

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

const (
	// patrolTime is between two looks at who should keep the store, certTime at the
	// certificates; serveTime is the longest between two attempts to serve.
	patrolTime = 2 * time.Second
	serveTime  = time.Minute
	certTime   = time.Minute
	// welcomeTime is between two looks at whether the store takes this host.
	welcomeTime = 20 * time.Second
)

// followMembers keeps the list of those that keep the store, here and on disk.
func (n *Node) followMembers(ctx context.Context) {
	for range n.store.Watch(ctx, MembersKey) {
		if err := n.readMembers(ctx); err != nil && ctx.Err() == nil {
			n.log.Warn("the store's members have changed, and this host has not kept up yet", "error", err)
		}
	}
}

// readMembers takes on who keeps the store. It reads that anew: what was watched
// may be older than what this host knows.
func (n *Node) readMembers(ctx context.Context) error {
	n.mu.Lock()
	was := n.record.Member
	n.mu.Unlock()
	e, err := read(ctx, n.store, MembersKey)
	if err != nil || e.Value == nil {
		return err
	}
	var all []member
	if err := json.Unmarshal(e.Value, &all); err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(m member) bool { return !m.Learner }) {
		return nil
	}
	return n.adopt(all, was)
}

// adopt takes on who keeps the store; was says that this host did when the list
// was read.
func (n *Node) adopt(all []member, was bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var err error
	if now := reachable(all, n.opt.Underlay); len(now) > 0 && !slices.Equal(now, n.endpoints) {
		err = n.dir.write(fileEndpoints, []byte(strings.Join(now, "\n")+"\n"))
		n.endpoints = now
		n.store.SetEndpoints(now)
		if n.admin != nil {
			n.admin.store.SetEndpoints(now)
		}
	}
	if text, bad := json.Marshal(all); bad == nil && !reflect.DeepEqual(all, n.members) {
		err = errors.Join(err, n.dir.write(fileMembers, text))
		n.members = all
	}
	own := peerURL(n.record.Underlay)
	mine := slices.ContainsFunc(all, func(m member) bool { return slices.Contains(m.Peers, own) })
	if was && n.record.Member && !mine {
		err = errors.Join(err, n.dismissed())
	}
	return err
}

// dismissed makes a host that kept the store one that does not; it holds mu.
func (n *Node) dismissed() error {
	n.log.Info("this host no longer keeps the store")
	r := n.record
	r.Member, r.Founder, r.Initial = false, false, nil
	err := errors.Join(n.save(r), n.door.close())
	if n.server != nil {
		n.server.Close() // it was told to end by the others, and says so as an error
	}
	if n.admin != nil {
		err = errors.Join(err, n.admin.store.Close())
	}
	n.door, n.server, n.admin, n.keys = nil, nil, nil, nil
	return errors.Join(err, n.dir.remove(dirData, fileAuthorityKey, fileOperator, fileServer, fileServerKey))
}

// followVote waits to be asked to keep the store.
func (n *Node) followVote(ctx context.Context) {
	key := voteKey(n.me.Name)
	for e := range n.store.Watch(ctx, hostsPrefix+n.me.Name+"/") {
		asked := slices.ContainsFunc(e.Entries, func(x store.Entry) bool { return x.Key == key && len(x.Value) > 0 })
		for wait := time.Second; asked && ctx.Err() == nil; wait = min(2*wait, 15*time.Second) {
			err := n.becomeMember(ctx)
			if err == nil || errors.Is(err, heddle.StoreRefused.Sentinel()) || errors.Is(err, heddle.HostRemoved.Sentinel()) {
				if err != nil {
					n.log.Warn("not made a member of the store", "error", err)
				}
				break
			}
			n.log.Warn("not a member of the store yet", "error", err)
			pause(ctx, wait)
		}
	}
}

// becomeMember fetches what a member of the store needs, and starts its server.
func (n *Node) becomeMember(ctx context.Context) error {
	n.mu.Lock()
	member := n.record.Member
	n.mu.Unlock()
	if member {
		return nil
	}
	var got memberReply
	q := memberRequest{Underlay: n.opt.Underlay, Clock: n.opt.Now()}
	if err := n.callDoors(ctx, pathMember, q, &got); err != nil {
		return err
	}
	ca, err := parsePair(certPEM(n.ca), got.AuthorityKey)
	if err != nil {
		return err
	}
	operator, err := parsePair(got.Operator)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.keepKeys(authority{ca}, operator); err != nil {
		return err
	}
	r := n.record
	r.Member, r.Initial, r.Underlay = true, got.Initial, n.opt.Underlay
	keys, err := n.loadKeys()
	if err == nil {
		err = n.save(r)
	}
	if err != nil {
		return err
	}
	n.keys = keys
	n.log.Info("this host keeps the store from now on")
	return n.serve()
}

// patrol renews certificates in time and, on the member that leads the store,
// sees to it that the right hosts keep it.
func (n *Node) patrol(ctx context.Context) {
	var looked time.Time
	served, wait := time.Now(), patrolTime
	var welcome time.Time
	b := balancer{node: n}
	defer b.close()
	for ctx.Err() == nil {
		if time.Since(looked) >= certTime {
			looked = time.Now()
			if err := n.renew(ctx); err != nil {
				n.log.Warn("certificate not renewed", "error", err)
			}
		}
		if time.Since(served) >= wait {
			served, wait = time.Now(), min(2*wait, serveTime)
			if n.keepServing() {
				wait = patrolTime
			}
		}
		if time.Since(welcome) >= welcomeTime {
			welcome = time.Now()
			n.checkWelcome(ctx)
		}
		b.look(ctx)
		pause(ctx, patrolTime)
	}
}

// checkWelcome finds out whether the store still takes the host's certificate:
// its servers answer a host that was removed, and refuse to tell it anything.
func (n *Node) checkWelcome(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	err := n.readMembers(ctx)
	switch {
	case errors.Is(err, heddle.StoreRefused.Sentinel()):
		err = error(heddle.Errorf(heddle.HostRemoved, "host", n.me.Name+": the store does not know its certificate any more",
			"detach its endpoints, move "+string(n.dir)+" away, and join again with a new token"))
		if n.refused.Swap(&err) == nil {
			n.log.Error("refused by the store", "error", err)
		}
	case err == nil:
		n.refused.Store(nil)
	}
}

// keepServing starts what a member of the store runs, if it has stopped, and
// reports whether all runs that should.
func (n *Node) keepServing() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.record.Member {
		return true
	}
	err := n.serve()
	if err != nil {
		n.log.Error("this host does not keep the store for now", "error", err)
	}
	return err == nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
