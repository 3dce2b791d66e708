package join

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// TestRefusals: a host that does not belong to a cluster gets a clear error, and leaves nothing
// behind on either side.
func TestRefusals(t *testing.T) {
	h := newHosts(t)
	n := h.start(1, nil)
	h.alive(1)
	o := h.closing(must(n.Operator(h.ctx(), nil)))
	brief, _, _, err := o.Token(h.ctx(), time.Second, 5)
	if err != nil {
		t.Fatal(err)
	}
	used := h.token(1)
	h.join(2, used)
	good := h.token(100)

	// another cluster on the same wire
	other := h.options(7)
	other.Name = "host1"
	if _, err := h.open(other, 7); err != nil {
		t.Fatal(err)
	}
	foreign, _, _, err := h.operator(7).Token(h.ctx(), time.Hour, 5)
	if err != nil {
		t.Fatal(err)
	}
	forged := token{pin: fingerprint(n.ca)}
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1100 * time.Millisecond))) // brief is over

	before := must(must(n.roster(h.ctx())).store.Read(h.ctx(), KeysPrefix))
	for _, c := range []struct {
		what, name, address, token string
		code                       heddle.Code
		word                       string
	}{
		{"cut token", "host3", "127.0.0.1", good[:30], heddle.BadToken, "cut"},
		{"made-up token", "host3", "127.0.0.1", forged.String(), heddle.BadToken, "not one of this cluster"},
		{"expired token", "host3", "127.0.0.1", brief, heddle.BadToken, "expired"},
		{"used token", "host3", "127.0.0.1", used, heddle.BadToken, "used up"},
		{"another cluster's token", "host3", "127.0.0.1", foreign, heddle.BadToken, "another cluster"},
		{"another cluster's door", "host3", "127.0.0.7", good, heddle.BadToken, "another cluster"},
		{"the name of another host", "host2", "127.0.0.1", good, heddle.HostExists, "host remove host2"},
		{"a host without the store", "host3", "127.0.0.2", good, heddle.StoreDown, "refused"},
		{"the operator's name", "root", "127.0.0.1", good, heddle.BadName, "root"},
	} {
		t.Run(c.what, func(t *testing.T) {
			opt := h.options(3)
			opt.Name, opt.Join, opt.Token = c.name, c.address, c.token
			_, err := h.open(opt, 3)
			wantCode(t, err, c.code, c.word)
			left, _ := filepath.Glob(opt.Dir + "/*")
			for _, f := range left {
				if name := filepath.Base(f); name != fileID && name != fileHostKey {
					t.Errorf("left over: %s", f)
				}
			}
		})
	}
	after := must(must(n.roster(h.ctx())).store.Read(h.ctx(), KeysPrefix))
	if len(before.Entries) != len(after.Entries) {
		t.Errorf("%d records became %d", len(before.Entries), len(after.Entries))
	}
	if users := must(must(n.roster(h.ctx())).usersOf(h.ctx(), "host3")); len(users) > 0 {
		t.Errorf("users %v", users)
	}
	t.Run("again", func(t *testing.T) { rejoin(t, h, good, foreign) })
	t.Run("rights", func(t *testing.T) { rights(t, h) })
	t.Run("reinstalled", func(t *testing.T) { reinstalled(t, h, good) })
}

// TestFoundingFails has a program on the store's port: nothing of a cluster is
// left, and the host can join another one.
func TestFoundingFails(t *testing.T) {
	h := newHosts(t)
	other := must(net.Listen("tcp", "127.0.0.2:9480"))
	_, err := h.open(h.options(2), 2)
	other.Close()
	wantCode(t, err, heddle.PortTaken, "9480")
	if left := must(filepath.Glob(h.options(2).Dir + "/*")); len(left) != 1 {
		t.Errorf("left over: %v", left)
	}
	h.start(1, nil)
	h.alive(1)
	h.join(2, h.token(1))
}

// rejoin starts a host that has joined with the flags it had, and others.
func rejoin(t *testing.T, h *hosts, good, foreign string) {
	id := h.nodes[2].record.ID
	h.stop(2)
	for _, with := range []func(*Options){nil, func(o *Options) { o.Join, o.Token = "127.0.0.1", good }, func(o *Options) { o.Join, o.Token = "127.0.0.99", good }} {
		if n := h.start(2, with); n.record.ID != id {
			t.Errorf("it is another host: %s", n.record.ID)
		}
		h.alive(2)
		h.stop(2)
	}
	opt := h.options(2)
	opt.Join, opt.Token = "127.0.0.7", foreign
	_, err := h.open(opt, 2)
	wantCode(t, err, heddle.StoreStrange, "another cluster")
	opt = h.options(2)
	opt.Name = "host9"
	_, err = h.open(opt, 2)
	wantCode(t, err, heddle.HostExists, "--name host2")
	h.start(2, nil)
	opt = h.options(1)
	opt.Underlay = []netip.Addr{netip.MustParseAddr("127.0.0.9")}
	_, err = Open(h.ctx(), opt)
	wantCode(t, err, heddle.BadArgument, "127.0.0.9", "host replace")
}

// rights are those of a host that does not keep the store.
func rights(t *testing.T, h *hosts) {
	s := h.nodes[2].Store()
	for key, may := range map[string]bool{
		"/heddle/hosts/host2/x": true, "/heddle/blocks/n/x": true, "/heddle/networks/x": false,
		"/heddle/hosts/host1/self": false, "/heddle/cluster": false, "/heddle/removed/1": false, MembersKey: false,
		tokensPrefix + "x": false, keeperKey("host2"): false, admittedKey("host1"): false, AdmittedPrefix + "host2": false, "/x": false,
	} {
		done, _, err := s.Commit(h.ctx(), store.Change{Put: []store.Entry{{Key: key, Value: []byte("1")}}})
		if may && (err != nil || !done) {
			t.Errorf("%s cannot be written: %v", key, err)
		}
		if !may {
			wantCode(t, err, heddle.StoreRefused)
		}
	}
	for prefix, may := range map[string]bool{"/heddle/": true, hostsPrefix + "host2/": true, hostsPrefix + "host1/": false, tokensPrefix: false, "/": false} {
		_, err := s.Read(h.ctx(), prefix)
		if may && err != nil {
			t.Errorf("%s cannot be read: %v", prefix, err)
		}
		if !may {
			wantCode(t, err, heddle.StoreRefused)
		}
	}
}

// reinstalled has a host lose its disk and come back under its name.
func reinstalled(t *testing.T, h *hosts, token string) {
	h.stop(2)
	opt := h.options(2)
	if err := os.Rename(opt.Dir, opt.Dir+".old"); err != nil {
		t.Fatal(err)
	}
	opt.Join, opt.Token = "127.0.0.1", token
	_, err := h.open(opt, 2)
	wantCode(t, err, heddle.HostExists, "installed anew", "host remove host2")
	h.gone(1, 2)
	h.join(2, token)
	h.stop(2)

	// what the old disk held is refused, though its name is a host's again
	if err := os.Rename(opt.Dir, opt.Dir+".new"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(opt.Dir+".old", opt.Dir); err != nil {
		t.Fatal(err)
	}
	n := h.start(2, nil)
	_, err = n.Store().Read(h.ctx(), "/heddle/")
	wantCode(t, err, heddle.StoreRefused)
}

// TestExpired has hosts whose certificates are out of date, by their clocks.
func TestExpired(t *testing.T) {
	h := newHosts(t)
	h.start(1, nil)
	h.alive(1)
	h.join(2, h.token(1))
	h.stop(2)

	late := func(by time.Duration) func(*Options) {
		return func(o *Options) { o.Now = func() time.Time { return time.Now().Add(by) } }
	}
	// the host's clock is a year ahead: it starts, and says why it has no store
	n := h.start(2, late(hostLife+time.Hour))
	h.await("the reason", func() bool { return strings.Contains(n.Store().Health().Detail, "has expired") })
	if s := n.Store().Health(); s.State != "down" || !strings.Contains(s.Detail, formatTime(n.host.Load().cert.NotAfter)) {
		t.Errorf("health %+v", s)
	}
	wantCode(t, n.renew(h.ctx()), heddle.StoreRefused, "has expired", "this host")
	h.stop(2)

	// the other host's clock is ahead: its door says so, with both clocks
	n = h.start(2, nil)
	h.stop(1)
	door := h.start(1, late(hostLife+time.Hour))
	if door.keys.serving.cert.NotAfter.Before(time.Now().Add(hostLife + time.Hour)) {
		t.Error("the host that keeps the store has not renewed its own certificate")
	}
	c := doorCaller{pin: fingerprint(n.ca), host: *n.host.Load(), now: func() time.Time { return time.Now().Add(hostLife) }}
	csr := must(request(n.record.identity.String(), n.host.Load().key))
	err := c.call(h.ctx(), "127.0.0.1:9478", pathRenew, renewRequest{csr, time.Now()}, &renewReply{})
	wantCode(t, err, heddle.StoreRefused, "has expired", "clock of host1", "that of the other host")
	// to the other host it is trouble with clocks, and nobody was removed
	n.checkAccepted(h.ctx())
	if why := n.refused.Load(); why != nil {
		t.Errorf("refused: %v", *why)
	}
	h.await("the clocks in its health", func() bool { return strings.Contains(n.Store().Health().Detail, "clock") })
	h.stop(2)
	h.stop(1)

	// in time, the certificate is renewed by the door, with its key
	h.start(1, late(hostLife*3/4))
	n = h.start(2, late(hostLife*3/4))
	h.await("a new certificate", func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.host.Load().cert.NotAfter.After(time.Now().Add(hostLife * 3 / 2))
	})
	h.stop(2)

	// and after that time by a token only; etcd's own clock is not shifted, so that
	// it would not take the new certificates yet
	h.stop(1)
	h.start(1, late(3*hostLife))
	n = h.start(2, late(3*hostLife))
	wantCode(t, n.renew(h.ctx()), heddle.StoreRefused)
	h.stop(2)
	again := h.token(1)
	n = h.start(2, func(o *Options) { late(3 * hostLife)(o); o.Join, o.Token = "127.0.0.1", again })
	if err := checkDates(n.host.Load().cert, n.opt.Now(), "this host", time.Time{}); err != nil {
		t.Error(err)
	}
}
