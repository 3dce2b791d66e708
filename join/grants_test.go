package join

import (
	"slices"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/store"
)

// TestRights: the rights that each kind of host should have.
func TestRights(t *testing.T) {
	networks, own := prefixRight(cluster.Prefix+"networks/", mayWrite), right{key: cluster.Prefix + "cluster", may: mayWrite}
	for _, c := range []struct {
		host              admitted
		networks, cluster bool
	}{
		{admitted{admission: admission{Token: "t"}}, false, false},
		{admitted{admission: admission{Token: "t", May: []string{Networks}}}, true, false},
		{admitted{admission: admission{Token: "t"}, keeper: true}, true, false},
		{admitted{keeper: true}, true, true},
		{admitted{}, false, false}, // a founder that keeps the store no more
	} {
		c.host.name = "h"
		got := c.host.rights()
		if slices.Contains(got, networks) != c.networks || slices.Contains(got, own) != c.cluster {
			t.Errorf("%+v: %v", c.host, got)
		}
		for _, x := range []right{prefixRight(cluster.Prefix, mayRead), prefixRight(cluster.Prefix+"hosts/h/", mayWrite), prefixRight(cluster.Prefix+"blocks/", mayWrite), prefixRight(hostsPrefix+"h/", mayRead)} {
			if !slices.Contains(got, x) {
				t.Errorf("%+v has not %v", c.host, x)
			}
		}
	}
}

// TestGrants has an operator give hosts the right to write networks, and take it.
func TestGrants(t *testing.T) {
	h := newHosts(t)
	h.start(1, nil)
	h.alive(1)
	o := h.operator(1)
	h.join(2, h.token(1))
	text, _, _, err := o.Token(h.ctx(), time.Hour, 1, Networks)
	if err != nil {
		t.Fatal(err)
	}
	h.join(3, text)
	_, _, _, err = o.Token(h.ctx(), time.Hour, 1, "everything")
	wantCode(t, err, heddle.BadArgument, "everything")

	write := func(i int) error {
		_, _, err := h.nodes[i].Store().Commit(h.ctx(), store.Change{Put: []store.Entry{{Key: cluster.Prefix + "networks/x", Value: []byte("{}")}}})
		return err
	}
	may := func(i int, want bool) {
		t.Helper()
		if told := h.nodes[i].MayWriteNetworks(h.ctx()); (told == nil) != want {
			t.Errorf("host%d is told: %v", i, told)
		}
		if err := write(i); (err == nil) != want {
			t.Errorf("host%d writes a network: %v", i, err)
		}
	}
	may(1, true)
	may(2, false)
	may(3, true)
	wantCode(t, h.nodes[2].MayWriteNetworks(h.ctx()), heddle.NotGranted, "host1, host3", "heddle host grant host2 networks")

	wantCode(t, o.Grant(h.ctx(), "host9", []string{Networks}), heddle.NoHost, "host9")
	wantCode(t, o.Grant(h.ctx(), "host2", []string{Networks, "all"}), heddle.BadArgument, "all")
	may(2, false)
	for range 2 { // granted again, nothing changes
		if err := o.Grant(h.ctx(), "host2", []string{Networks}); err != nil {
			t.Fatal(err)
		}
		may(2, true)
	}
	if a := must(o.host(h.ctx(), "host2")); !slices.Equal(a.May, []string{Networks}) {
		t.Errorf("it may %v", a.May)
	}
	for range 2 {
		if err := o.Revoke(h.ctx(), "host2", []string{Networks}); err != nil {
			t.Fatal(err)
		}
		may(2, false)
	}
	wantCode(t, o.Revoke(h.ctx(), "host9", []string{Networks}), heddle.NoHost, "host9")
	wantCode(t, o.Revoke(h.ctx(), "host1", []string{Networks}), heddle.BadArgument, "host demote host1")
	may(1, true)

	// what a token gave is taken back for good, also if the host asks by it again
	if err := o.Revoke(h.ctx(), "host3", []string{Networks}); err != nil {
		t.Fatal(err)
	}
	n := h.nodes[3]
	secret := must(parseToken(text)).secret
	q := joinRequest{Secret: secret[:], identity: n.me, Underlay: n.opt.Underlay, Request: must(request(n.me.String(), n.host.Load().key)), Clock: time.Now()}
	c := doorCaller{pin: fingerprint(n.ca), now: time.Now}
	if err := c.call(h.ctx(), "127.0.0.1:9478", pathJoin, q, &joinReply{}); err != nil {
		t.Fatal(err)
	}
	may(3, false)

	// a name that is removed leaves no right to the next one
	if err := o.Grant(h.ctx(), "host2", []string{Networks}); err != nil {
		t.Fatal(err)
	}
	h.gone(1, 2)
	if a := must(o.host(h.ctx(), "host2")); a != nil {
		t.Errorf("%+v is left", a)
	}
}

// TestRightsFollow: the leading member corrects a role that the call did not change, or that an
// earlier version made, and removes rights that a host should not have.
func TestRightsFollow(t *testing.T) {
	h := newHosts(t)
	h.start(1, nil)
	h.alive(1)
	h.join(2, h.token(1))
	r := must(h.nodes[1].roster(h.ctx()))
	has := func(x right) bool {
		got, err := r.client.RoleGet(h.ctx(), h.nodes[2].me.String())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range got.Perm {
			if string(p.Key) == x.key && string(p.RangeEnd) == x.end {
				return true
			}
		}
		return false
	}
	networks := prefixRight(cluster.Prefix+"networks/", mayWrite)
	set := func(may ...string) { // as if the call were interrupted here
		a := must(r.host(h.ctx(), "host2"))
		a.May = may
		if err := r.replaceAdmission(h.ctx(), *a); err != nil {
			t.Fatal(err)
		}
	}
	set(Networks)
	h.await("the right to come", func() bool { return has(networks) })
	set()
	h.await("the right to go", func() bool { return !has(networks) })
	for _, x := range []right{networks, {key: cluster.Prefix + "cluster", may: mayWrite}} {
		if _, err := r.client.RoleGrantPermission(h.ctx(), h.nodes[2].me.String(), x.key, x.end, x.may); err != nil {
			t.Fatal(err)
		}
	}
	h.stop(1)
	h.start(1, nil)
	r = must(h.nodes[1].roster(h.ctx()))
	h.await("what an earlier version gave to go", func() bool { return !has(networks) && !has(right{key: cluster.Prefix + "cluster"}) })
	h.alive(2)
}
