package join

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// TestUpgrade has the records of a cluster of an earlier version: no host is bound to
// a key, none is named as a keeper, and no copy of an admission is there.
func TestUpgrade(t *testing.T) {
	h := newHosts(t)
	h.start(1, nil)
	h.alive(1)
	token := h.token(5)
	n := h.join(2, token)
	o := h.operator(1)
	admissionOf := func(name string) (a admission) {
		if err := json.Unmarshal(must(read(h.ctx(), o.store, admittedKey(name))).Value, &a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	bound := admissionOf("host2")
	if want := must(keyFingerprint(n.host.Load().key.Public())); bound.Key != want || bound.Token == "" {
		t.Errorf("a host that joined has the key %q, not %q, and came by the token %q", bound.Key, want, bound.Token)
	}
	old := store.Change{Delete: []string{keeperKey("host1")}, DeletePrefix: []string{AdmittedPrefix}}
	for _, name := range []string{"host1", "host2"} {
		a := admissionOf(name)
		a.Key, a.Token = "", ""
		old.Put = append(old.Put, store.Entry{Key: admittedKey(name), Value: must(json.Marshal(a))})
	}
	if _, _, err := o.store.Commit(h.ctx(), old); err != nil {
		t.Fatal(err)
	}
	h.await("those that keep the store to be named, and all to be shown", func() bool {
		s := must(o.state(h.ctx()))
		k := s.keepers()
		return len(k) == 1 && k[0] == "host1" && len(must(n.Admitted(h.ctx()))) == 2
	})

	// no token binds the host, not even to the key that it has
	c := doorCaller{pin: fingerprint(n.ca), now: time.Now}
	known := must(parseToken(token))
	q := joinRequest{Secret: known.secret[:], identity: n.me, Underlay: n.opt.Underlay, Clock: time.Now()}
	q.Request = must(request(n.me.String(), must(newKey())))
	wantCode(t, c.call(h.ctx(), "127.0.0.1:9478", pathJoin, q, &joinReply{}), heddle.OtherKey, "host remove host2")
	q.Request = must(request(n.me.String(), n.host.Load().key))
	wantCode(t, c.call(h.ctx(), "127.0.0.1:9478", pathJoin, q, &joinReply{}), heddle.OtherKey)
	if a := admissionOf("host2"); a.Key != "" {
		t.Errorf("a token bound the host to the key %s", a.Key)
	}

	// its next start does
	h.stop(2)
	h.start(2, nil)
	h.await("the host to be bound by its certificate", func() bool { return admissionOf("host2").Key == bound.Key })
	h.await("its fingerprint to be shown", func() bool {
		for _, a := range must(h.nodes[1].Admitted(h.ctx())) {
			if a.Name == "host2" && a.Key == bound.Key {
				return true
			}
		}
		return false
	})
	if err := c.call(h.ctx(), "127.0.0.1:9478", pathJoin, q, &joinReply{}); err != nil {
		t.Errorf("with the key that is known, the answer that was lost is not given again: %v", err)
	}
}

// TestLeftUsers: a user of the store that belongs to no host is removed, whoever left it.
func TestLeftUsers(t *testing.T) {
	h := newHosts(t)
	h.start(1, nil)
	h.alive(1)
	h.join(2, h.token(1))
	r := must(h.nodes[1].roster(h.ctx()))
	if err := r.grant(h.ctx(), identity{"host2", "0123456789abcdef"}); err != nil { // another ID, once
		t.Fatal(err)
	}
	if err := r.prune(h.ctx()); err != nil {
		t.Fatal(err)
	}
	if got := must(r.usersOf(h.ctx(), "host2")); len(got) != 1 || got[0] != h.nodes[2].me.String() {
		t.Errorf("the users are %v", got)
	}
	h.alive(2)
}
