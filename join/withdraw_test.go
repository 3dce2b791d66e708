package join

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/soak"
)

// custody tells what the keepers have: "host1=disk host2=lent host3=?".
func custody(a Authority) string {
	var all []string
	for _, k := range a.Keepers {
		what := "none"
		switch {
		case k.Problem != "":
			what = "?"
		case k.Disk:
			what = "disk"
		case !k.Lent.IsZero():
			what = "lent"
		}
		all = append(all, k.Host+"="+what)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestWithdrawal takes the authority's key off the hosts, lends it, and returns it.
func TestWithdrawal(t *testing.T) {
	soak.Turn(t, 2)
	h := newHosts(t)
	h.start(1, nil)
	h.alive(1)
	token := h.token(100)
	h.join(2, token)
	h.join(3, token)
	h.promote(1, "host2", "host3")
	h.await("three voters", func() bool { return h.voters(1) == 3 })
	h.join(4, token)
	o := h.operator(1)
	key := must(o.ExportAuthority())
	if _, err := authorityKey(o.node.ca, key); err != nil {
		t.Fatal(err)
	}
	other := must(newAuthority(time.Now()))
	forged := append(certPEM(other.cert), must(keyPEM(other.key))...)

	t.Run("refused", func(t *testing.T) {
		_, err := o.WithdrawAuthority(h.ctx(), forged)
		wantCode(t, err, heddle.BadArgument, "does not fit")
		_, err = o.LendAuthority(h.ctx(), key, time.Hour)
		wantCode(t, err, heddle.BadArgument, "not withdrawn")
		credential := must(os.ReadFile(filepath.Join(h.dir, "1", fileOperator)))
		_, err = o.WithdrawAuthority(h.ctx(), credential)
		wantCode(t, err, heddle.BadArgument, "does not fit")
		away := must(h.nodes[4].Operator(h.ctx(), credential)) // an operator on a host without the key
		defer away.Close()
		_, err = away.ExportAuthority()
		wantCode(t, err, heddle.NoCredential, "host4")
		if got := custody(must(away.Authority(h.ctx()))); got != "host1=disk host2=disk host3=disk" {
			t.Error(got)
		}
		n := h.nodes[4] // no operator
		c := doorCaller{pin: fingerprint(n.ca), host: *n.host.Load(), now: time.Now, named: true}
		wantCode(t, c.call(h.ctx(), "127.0.0.1:9478", pathAuthority, authorityRequest{Clock: time.Now()}, &Holding{}), heddle.StoreRefused, "operator")
		c.host = pair{}
		wantCode(t, c.call(h.ctx(), "127.0.0.1:9478", pathAuthority, authorityRequest{Clock: time.Now()}, &Holding{}), heddle.StoreRefused, "operator")
	})

	// one keeper is away, and one was cut off when it wrote the key
	h.stop(3)
	if err := os.WriteFile(h.nodes[2].dir.path("."+fileAuthorityKey+"-1"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	withdraw := func(o *Operator) (Authority, error) { return o.WithdrawAuthority(h.ctx(), key) }
	lend := func(o *Operator) (Authority, error) { return o.LendAuthority(h.ctx(), key, time.Hour) }
	look := func(o *Operator) (Authority, error) { return o.Authority(h.ctx()) }
	h.until("host1=none host2=none host3=?", withdraw)
	h.until("host1=none host2=none host3=?", withdraw) // it can be called again
	h.nowhere(1, 2)
	h.start(3, nil)
	h.until("host1=none host2=none host3=none", look) // which was away
	h.nowhere(3)
	_, err := o.ExportAuthority()
	wantCode(t, err, heddle.AuthorityAway)
	h.nobodySigns(token)

	// it starts without the key, and finishes a deletion that was cut off
	h.stop(1)
	for _, name := range []string{fileAuthorityKey, "." + fileAuthorityKey + "-2"} {
		if err := os.WriteFile(filepath.Join(h.dir, "1", name), key, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h.start(1, nil)
	h.nowhere(1)
	h.await("three voters again", func() bool { return h.voters(1) == 3 })
	h.nobodySigns(token)

	o = h.operator(1)
	_, err = o.LendAuthority(h.ctx(), forged, time.Hour)
	wantCode(t, err, heddle.BadArgument, "does not fit")
	c := doorCaller{pin: fingerprint(o.node.ca), host: o.cert, now: time.Now}
	for q, code := range map[*authorityRequest]heddle.Code{{Key: forged, Seconds: 60}: heddle.BadArgument, {Key: key}: heddle.AuthorityAway} {
		h.await("the door to refuse a key", func() bool {
			q.Clock = time.Now()
			return errors.Is(c.call(h.ctx(), "127.0.0.1:9478", pathAuthority, q, &Holding{}), code.Sentinel())
		})
	}
	h.nowhere(1)
	_, err = o.LendAuthority(h.ctx(), key, 25*time.Hour)
	wantCode(t, err, heddle.BadArgument, "--for")

	h.until("host1=lent host2=lent host3=lent", lend)
	_, err = o.ExportAuthority()
	wantCode(t, err, heddle.AuthorityAway)
	h.join(5, token)
	h.promote(1, "host4", "host5") // they get no key
	h.await("five voters", func() bool { return h.voters(1) == 5 })
	h.nowhere(1, 2, 3, 4, 5)
	h.restart(5, 4, 3, 2, 1) // and without it
	h.await("five voters after the restart", func() bool { return h.voters(5) == 5 })
	h.nobodySigns(token) // a loan does not outlive the agent

	none := "host1=none host2=none host3=none host4=none host5=none"
	h.until(none, look)
	h.until(strings.ReplaceAll(none, "none", "lent"), lend)
	if _, err := h.nodes[4].signer(); err != nil {
		t.Error(err)
	}
	h.await("a loan of a second, which is the last word", func() bool {
		return nil == h.asOperator(1, func(o *Operator) error {
			_, err := o.LendAuthority(h.ctx(), key, time.Second)
			return err
		})
	})
	h.until(none, look)
	h.await("the key to be forgotten", func() bool {
		n := h.nodes[1]
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.keys.lent.key == nil
	})
	h.nobodySigns(token)

	o = h.operator(1)
	_, err = o.ReturnAuthority(h.ctx(), forged)
	wantCode(t, err, heddle.BadArgument, "does not fit")
	for range 2 {
		h.until(strings.ReplaceAll(none, "none", "disk"), func(o *Operator) (Authority, error) { return o.ReturnAuthority(h.ctx(), key) })
	}
	h.restart(1, 2, 3, 4, 5)
	h.join(6, token)
	_, want, _ := parse(key)
	for i := 1; i <= 5; i++ {
		if _, have, err := parse(must(h.nodes[i].dir.read(fileAuthorityKey))); err != nil || !want.Equal(have) {
			t.Errorf("host%d has another key: %v", i, err)
		}
	}
}

// TestEndedWithoutKey: a keeper whose certificates have ended while the key was off the
// hosts starts, and has new ones when the key is put back by hand.
func TestEndedWithoutKey(t *testing.T) {
	h := newHosts(t)
	h.start(1, nil)
	h.alive(1)
	key := must(h.operator(1).ExportAuthority())
	h.until("host1=none", func(o *Operator) (Authority, error) { return o.WithdrawAuthority(h.ctx(), key) })
	h.stop(1)
	late := func(o *Options) { o.Now = func() time.Time { return time.Now().Add(hostLife + time.Hour) } }
	n := h.start(1, late)
	if c := n.Custody(); !c.Due || c.Ends.After(n.opt.Now()) || !c.Keeper {
		t.Errorf("%+v", c)
	}
	if err := n.renew(h.ctx()); err == nil {
		t.Error("it has renewed them without the key")
	}
	h.stop(1)
	record := must(n.dir.read(fileRecord))
	without := strings.Replace(string(record), "\"keyAway\": true", "\"keyAway\": false", 1)
	if without == string(record) {
		t.Fatalf("no mark in %s", record)
	}
	if err := errors.Join(n.dir.write(fileAuthorityKey, key), n.dir.write(fileRecord, []byte(without))); err != nil {
		t.Fatal(err)
	}
	n = h.start(1, late)
	if c := n.Custody(); c.Due || c.Ends.Before(n.opt.Now()) {
		t.Errorf("%+v", c)
	}
}

// until has an operator on the first host act, again while the store does not answer,
// until the keepers have what they should.
func (h *hosts) until(want string, act func(*Operator) (Authority, error)) {
	h.Helper()
	h.await("the authority's key: "+want, func() bool {
		var a Authority
		err := h.asOperator(1, func(o *Operator) (err error) {
			a, err = act(o)
			return err
		})
		if err != nil && !errors.Is(err, heddle.StoreDown.Sentinel()) {
			h.Fatal(err)
		}
		return err == nil && custody(a) == want
	})
}

// nowhere looks for the authority's key in hosts' folders.
func (h *hosts) nowhere(hosts ...int) {
	h.Helper()
	for _, i := range hosts {
		err := filepath.WalkDir(string(h.nodes[i].dir), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil // the store's own files come and go
			}
			text := written(path)
			if _, key, err := parse(text); err == nil && key != nil && key.PublicKey.Equal(h.nodes[i].ca.PublicKey) {
				h.Errorf("%s has the authority's key", path)
			}
			return nil
		})
		if err != nil {
			h.Error(err)
		}
	}
}

// written returns what was written to a file: the store's log is 64 MiB from the beginning, nearly all of it holes.
func written(path string) (text []byte) {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	for end := int64(0); ; {
		begin, err := f.Seek(end, unix.SEEK_DATA)
		if err != nil { // there is no more
			return text
		}
		if end, err = f.Seek(begin, unix.SEEK_HOLE); err != nil {
			return text
		}
		part := make([]byte, end-begin)
		n, _ := f.ReadAt(part, begin)
		text = append(text, part[:n]...)
	}
}

// nobodySigns has a host ask to join, one that asks for a new certificate, and an
// operator look at who could.
func (h *hosts) nobodySigns(token string) {
	h.Helper()
	o := h.options(9)
	o.Join, o.Token = "127.0.0.1", token
	h.await("a host to be told that it cannot join", func() bool {
		limited, cancel := context.WithTimeout(h.ctx(), 3*time.Second)
		defer cancel()
		n, err := Open(limited, o)
		if err == nil {
			n.Close()
			h.Fatal("a host has joined")
		}
		return errors.Is(err, heddle.AuthorityAway.Sentinel())
	})
	secret := must(parseToken(token))
	n := h.nodes[4]
	began := time.Now() // and is told so in the end
	err := n.callUntilOpen(h.ctx(), doorCaller{pin: secret.pin, now: time.Now}, "127.0.0.1:9478", joinRequest{Secret: secret.secret[:], identity: identity{"host9", "0123456789abcdef"},
		Underlay: o.Underlay, Request: must(request("host9@0123456789abcdef", must(newKey()))), Clock: time.Now()}, &joinReply{}, time.Second)
	wantCode(h.T, err, heddle.AuthorityAway, "lend")
	if took := time.Since(began); took < time.Second || took > time.Minute {
		h.Errorf("it has waited for %s", took)
	}
	csr := must(request(n.me.String(), n.host.Load().key))
	var got renewReply
	h.await("a host to be told that its certificate is not renewed", func() bool {
		return errors.Is(n.callDoors(h.ctx(), pathRenew, renewRequest{csr, time.Now()}, &got), heddle.AuthorityAway.Sentinel())
	})
	for i, n := range h.nodes {
		if _, err := n.signer(); err == nil {
			h.Errorf("host%d signs", i)
		}
	}
}
