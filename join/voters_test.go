package join

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/store"
	"github.com/heddle-network/heddle/test/soak"
)

// leave removes a host that does not return from the cluster, as cluster.RemoveHost does before
// Expel or Replace.
func (h *hosts) leave(by, i int) *Operator {
	h.Helper()
	o := h.operator(by)
	name := fmt.Sprintf("host%d", i)
	var was admission
	if err := json.Unmarshal(must(read(h.ctx(), o.store, admittedKey(name))).Value, &was); err != nil {
		h.Fatal(err)
	}
	change := store.Change{DeletePrefix: []string{cluster.Prefix + "hosts/" + name + "/"},
		Put: []store.Entry{{Key: cluster.Prefix + "removed/" + was.ID, Value: fmt.Appendf(nil, `{"name":%q}`, name)}}}
	if _, _, err := o.Store().Commit(h.ctx(), change); err != nil {
		h.Fatal(err)
	}
	return o
}

// gone has a host removed.
func (h *hosts) gone(by, i int) {
	h.Helper()
	if err := h.leave(by, i).Expel(h.ctx(), fmt.Sprintf("host%d", i)); err != nil {
		h.Fatal(err)
	}
}

// keeps reports whether a host's own record says that it keeps the store.
func (h *hosts) keeps(i int) bool {
	n := h.nodes[i]
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.record.Member
}

// keeperFiles are what only a host that keeps the store may have.
var keeperFiles = []string{fileAuthorityKey, fileOperator, fileServer, fileServerKey, dirData}

// left lists those of them that there are.
func (n *Node) left() (all []string) {
	for _, name := range keeperFiles {
		if n.dir.has(name) {
			all = append(all, name)
		}
	}
	return all
}

// TestVoters has hosts join and named as keepers, one after the other, kills and
// replaces voters, and has the rest come back in another order.
func TestVoters(t *testing.T) {
	soak.Turn(t, 1)
	h := newHosts(t)
	h.start(1, nil)
	h.alive(1)
	h.join(2, h.token(1))
	h.await("a second host that only reads and writes", func() bool { return h.voters(1) == 1 && !h.keeps(2) })
	token := h.token(3)
	h.join(3, token)
	h.promote(1, "host2")
	h.await("a second keeper that stands by", func() bool { return h.roles(1) == "host1=voter host2=learner" && h.keeps(2) })
	o := h.operator(1)
	if s := must(o.state(h.ctx())); !s.standsBy("host2") || s.standsBy("host1") {
		t.Error("it does not stand by")
	}
	wantCode(t, o.Promote(h.ctx(), []string{"host3", "host9"}), heddle.NoHost, "host9")
	if got := must(o.state(h.ctx())).keepers(); len(got) != 2 {
		t.Errorf("half of a change was made: %v", got)
	}
	h.promote(1, "host3", "host2")
	h.await("three voters", func() bool { return h.voters(1) == 3 })
	h.join(4, token)
	h.await("four hosts with three voters", func() bool { return h.voters(2) == 3 && !h.keeps(4) })

	// a voter is gone for good, and the fourth host takes its place
	h.stop(3)
	o = h.operator(2)
	wantCode(t, o.Removable(h.ctx(), "host3", "host2"), heddle.BadArgument, "keeps the store already")
	wantCode(t, o.Removable(h.ctx(), "host4", "host4"), heddle.BadArgument)
	wantCode(t, o.Removable(h.ctx(), "host9", ""), heddle.NoHost)
	if err := o.Removable(h.ctx(), "host3", "host4"); err != nil {
		t.Fatal(err)
	}
	h.gone(2, 3) // interrupted there: the call can be repeated
	for range 2 {
		if err := o.Removable(h.ctx(), "host3", "host4"); err != nil {
			t.Fatal(err)
		}
		if err := o.Replace(h.ctx(), "host3", "host4"); err != nil {
			t.Fatal(err)
		}
	}
	wantCode(t, o.Removable(h.ctx(), "host9", "host4"), heddle.NoHost, "host9")
	h.await("the new voter's door", func() bool { return h.keeps(4) })

	// it comes back all the same, and its certificate opens nothing
	removed := h.start(3, nil)
	_, _, err := removed.Store().Commit(h.ctx(), store.Change{Put: []store.Entry{{Key: cluster.Prefix + "hosts/host3/self"}}})
	wantCode(t, err, heddle.StoreRefused)
	h.await("the reason in its health", func() bool { return strings.Contains(removed.Store().Health().Detail, string(heddle.HostRemoved)) })
	h.await("what it had as a keeper to go", func() bool { return !h.keeps(3) && len(removed.left()) == 0 })
	_, err = removed.Operator(h.ctx(), nil)
	wantCode(t, err, heddle.NoCredential, "host3")
	h.await("its door to close", func() bool {
		conn, err := net.Dial("tcp", "127.0.0.3:9478")
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	var got renewReply
	csr := must(request("host3@"+removed.record.ID, removed.host.Load().key))
	c := doorCaller{pin: fingerprint(removed.ca), host: *removed.host.Load(), now: time.Now}
	wantCode(t, c.call(h.ctx(), "127.0.0.1:9478", pathRenew, renewRequest{csr, time.Now()}, &got), heddle.HostRemoved)
	h.stop(3)

	// as if it had been killed before its files were gone
	for _, name := range keeperFiles {
		if err := os.WriteFile(removed.dir.path(name), []byte("left"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if left := h.start(3, nil).left(); len(left) > 0 {
		t.Errorf("a host that does not keep the store has %v", left)
	}
	h.stop(3)

	h.stop(4)
	h.answers(1)
	wantCode(t, o.Removable(h.ctx(), "host1", ""), heddle.StoreDown, "needed")
	wantCode(t, o.Demote(h.ctx(), []string{"host1"}), heddle.StoreDown, "needed")
	h.start(4, nil)
	h.restart(4, 2, 1)
	h.await("three voters after the restart", func() bool { return h.voters(4) == 3 })
	h.lose()
}

// restart stops all hosts and starts them in an order. None of them waits for
// the others; the store answers when most are there.
func (h *hosts) restart(order ...int) {
	h.Helper()
	for i := range h.nodes {
		h.stop(i)
	}
	for k, i := range order {
		began := time.Now()
		n := h.start(i, nil)
		if took := time.Since(began); k == 0 && took > 15*time.Second {
			h.Errorf("host%d took %s to start alone", i, took)
		}
		if k == 0 && n.Store().Health().State != "down" {
			h.Errorf("one of %d members takes its store for %v", len(order), n.Store().Health())
		}
	}
	for _, i := range order {
		h.answers(i)
	}
}

// answers waits until a host's store answers: when a voter is gone, the others may have to elect a leader first.
func (h *hosts) answers(host int) {
	h.Helper()
	h.await(fmt.Sprintf("host%d's store", host), func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_, err := h.nodes[host].Store().Read(ctx, MembersKey)
		return err == nil
	})
}

// roles says who keeps the store, in the order of names, as one of the hosts sees it.
func (h *hosts) roles(by int) string {
	var all []string
	for name, role := range h.nodes[by].Roles() {
		all = append(all, name+"="+role)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// lose removes one of three voters. One of the two remaining keepers stands by, since two votes are
// no better than one. The one with the vote is demoted: first the other one gets a vote, and then
// the demoted one has no keys any more.
func (h *hosts) lose() {
	h.Helper()
	h.stop(4)
	h.gone(1, 4)
	h.await("one voter of two keepers", func() bool {
		r := h.roles(1)
		return r == "host1=voter host2=learner" || r == "host1=learner host2=voter"
	})
	left := 2
	if h.nodes[1].Roles()["host1"] == "voter" {
		left = 1
	}
	h.await("both to have what keepers have", func() bool { return h.keeps(1) && h.keeps(2) })
	wantCode(h.T, h.operator(left).Demote(h.ctx(), []string{"host1", "host2"}), heddle.BadArgument, "nobody")
	h.demote(left, fmt.Sprintf("host%d", left))
	h.await("one keeper", func() bool { return h.roles(3-left) == fmt.Sprintf("host%d=voter", 3-left) && !h.keeps(left) })
	n := h.nodes[left]
	h.await("its keys to go", func() bool { return len(n.left()) == 0 })
	_, err := n.Operator(h.ctx(), nil)
	wantCode(h.T, err, heddle.NoCredential, fmt.Sprintf("host%d", left))
	h.alive(left)
	credential := must(os.ReadFile(filepath.Join(h.dir, fmt.Sprint(3-left), fileOperator)))
	o, err := n.Operator(h.ctx(), credential)
	if err != nil {
		h.Fatal(err)
	}
	if _, _, _, err := o.Token(h.ctx(), time.Hour, 1); err != nil {
		h.Error(err)
	}
	if err := o.Close(); err != nil {
		h.Error(err)
	}
}
