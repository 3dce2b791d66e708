package join

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	"github.com/heddle-network/heddle/store"
)

const (
	// maintainEvery is the time between two checks of who keeps the store, certEvery that between
	// two checks of the certificates. maxServePause is the longest time between two attempts to
	// serve.
	maintainEvery = 2 * time.Second
	maxServePause = time.Minute
	certEvery     = time.Minute
	// acceptedEvery is the time between two checks of whether the store accepts this host.
	acceptedEvery = 20 * time.Second
)

// followMembers keeps the list of those that keep the store, here and on disk.
func (n *Node) followMembers(ctx context.Context) {
	for range n.store.Watch(ctx, MembersKey) {
		if err := n.readMembers(ctx); err != nil && ctx.Err() == nil {
			n.log.Warn("the store's members have changed, and this host has not kept up yet", "error", err)
		}
	}
}

// followKeeperKey makes this host keep the store while an operator names it as a keeper. This
// holds also after its member was removed because it had not started in time or because
// the number of votes was even.
func (n *Node) followKeeperKey(ctx context.Context) {
	const soon, seldom = time.Second, 15 * time.Second
	keeper, wait := false, seldom
	events := n.store.Watch(ctx, hostsPrefix+n.me.Name+"/")
	for {
		select {
		case e, open := <-events:
			if !open {
				return
			}
			keeper = keyExists(e, keeperKey(n.me.Name), keeper)
			wait = soon
		case <-time.After(wait):
			wait = min(2*wait, seldom)
		}
		if !keeper {
			continue
		}
		if err := n.becomeMember(ctx); err != nil && ctx.Err() == nil {
			n.log.Warn("not a member of the store yet", "error", err)
		}
	}
}

// keyExists reports whether the key exists after an event; before says whether it existed
// before the event.
func keyExists(e store.Event, key string, before bool) bool {
	if slices.ContainsFunc(e.Entries, func(x store.Entry) bool { return x.Key == key }) {
		return true
	}
	return before && !e.Snapshot && !slices.Contains(e.Deleted, key)
}

// becomeMember fetches what a member of the store needs, and starts its server.
func (n *Node) becomeMember(ctx context.Context) error {
	n.mu.Lock()
	member := n.record.Member
	n.mu.Unlock()
	if member {
		return nil
	}
	got, ca, serving, err := n.requestMembership(ctx)
	if err != nil {
		return err
	}
	operator, err := parsePair(got.Operator)
	if err != nil {
		return err
	}
	n.roleMu.Lock() // an earlier server of this host may still be closing
	defer n.roleMu.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.keepKeys(ca, operator, serving); err != nil {
		return err
	}
	r := n.record
	r.Member, r.Initial, r.Underlay, r.KeyAway = true, got.Initial, n.opt.Underlay, ca.key == nil
	keys, err := n.loadKeys(r.KeyAway)
	if err == nil {
		err = n.saveLocked(r)
	}
	if err != nil {
		return err
	}
	n.keys = keys
	n.log.Info("this host keeps the store from now on")
	return n.serveLocked()
}

// requestMembership fetches what a member of the store needs. It gets the authority's key, and
// signs its own certificate with that. While that key is off the hosts, a door signs the
// certificate.
func (n *Node) requestMembership(ctx context.Context) (got memberReply, ca authority, serving pair, err error) {
	ca.cert = n.ca
	q := memberRequest{Underlay: n.opt.Underlay, Clock: n.opt.Now()}
	if w := n.withdrawn.Load(); w != nil && !w.At.IsZero() {
		if serving.key, err = newKey(); err == nil {
			q.Serving, err = request(serverName, serving.key)
		}
		if err != nil {
			return got, ca, serving, err
		}
	}
	if err := n.callDoors(ctx, pathMember, q, &got); err != nil {
		return got, ca, serving, err
	}
	if len(got.AuthorityKey) == 0 {
		serving.cert, err = x509.ParseCertificate(got.Serving)
		return got, ca, serving, err
	}
	if ca.key, err = authorityKey(n.ca, got.AuthorityKey); err == nil {
		serving, err = ca.issue(serverName, n.opt.Underlay, n.opt.Now(), hostLife)
	}
	return got, ca, serving, err
}

// maintain renews certificates in time. On the leading member of the store it also ensures
// that the right hosts keep the store.
func (n *Node) maintain(ctx context.Context) {
	var looked time.Time
	bound, unrenewed := false, ""
	served, wait := time.Now(), maintainEvery
	var welcome time.Time
	b := balancer{node: n}
	defer b.close()
	for ctx.Err() == nil {
		if time.Since(looked) >= certEvery {
			looked = time.Now()
			err := n.renew(ctx)
			if err != nil && err.Error() != unrenewed { // the error may last for months: log it once
				n.log.Warn("certificate not renewed", "error", err)
			}
			unrenewed = fmt.Sprint(err)
			bound = bound || n.registerKey(ctx) == nil
		}
		if time.Since(served) >= wait {
			served, wait = time.Now(), min(2*wait, maxServePause)
			if n.keepServing() {
				wait = maintainEvery
			}
		}
		if time.Since(welcome) >= acceptedEvery {
			welcome = time.Now()
			n.checkAccepted(ctx)
		}
		b.balance(ctx)
		pause(ctx, maintainEvery)
	}
}

// keepServing restarts the server and the door of a member of the store if they have
// stopped, and reports whether everything runs that should.
func (n *Node) keepServing() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.record.Member {
		return true
	}
	err := n.serveLocked()
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
