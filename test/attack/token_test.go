package attack_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base32"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/join"
	"github.com/heddle-network/heddle/store"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/world"
)

// realm is a cluster of hosts in this process, on addresses of the loopback: host i
// is at 127.0.0.i, and the first one keeps the store.
type realm struct {
	*testing.T
	hosts map[int]*join.Node
	dirs  map[int]string
	token string
}

func newRealm(t *testing.T, hosts int) *realm {
	t.Helper()
	r := &realm{T: t, hosts: map[int]*join.Node{}, dirs: map[int]string{}}
	t.TempDir() // goes after the hosts
	t.Cleanup(func() {
		for _, n := range r.hosts {
			n.Close()
		}
	})
	r.open(1, "")
	r.token = r.newToken(max(hosts-1, 1))
	for i := 2; i <= hosts; i++ {
		r.open(i, r.token)
	}
	return r
}

func (r *realm) open(i int, token string) *join.Node {
	r.Helper()
	r.dirs[i] = r.TempDir()
	o := r.options(i)
	if token != "" {
		o.Join, o.Token = "127.0.0.1", token
	}
	n, err := join.Open(ctx, o)
	if err != nil {
		r.Fatal(err)
	}
	r.hosts[i] = n
	r.alive(n, o.Name)
	return n
}

func (r *realm) options(i int) join.Options {
	return join.Options{Dir: r.dirs[i], Name: fmt.Sprintf("host%d", i), Underlay: []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, byte(i)})},
		Now: time.Now, Log: slog.New(slog.NewTextHandler(r.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))}
}

// alive writes what an agent writes of itself.
func (r *realm) alive(n *join.Node, name string) {
	r.Helper()
	world.Within(r, time.Minute, name+" writes", func() error {
		_, _, err := n.Store().Commit(ctx, store.Change{Put: []store.Entry{{Key: cluster.Prefix + "hosts/" + name + "/alive", Value: []byte("x")}}})
		return err
	})
}

func (r *realm) operator() *join.Operator {
	r.Helper()
	o, err := r.hosts[1].Operator(ctx, nil)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { o.Close() })
	return o
}

// promote names hosts as keepers.
func (r *realm) promote(hosts ...int) {
	r.Helper()
	var names []string
	for _, i := range hosts {
		names = append(names, r.hosts[i].Self().Name)
	}
	if err := r.operator().Promote(ctx, names); err != nil {
		r.Fatal(err)
	}
	want := len(hosts) + 1
	world.Within(r, 3*time.Minute, "they keep the store", func() error {
		voters := 0
		for _, role := range r.hosts[1].Roles() {
			if role == "voter" {
				voters++
			}
		}
		if voters != want {
			return fmt.Errorf("%d voters, not %d", voters, want)
		}
		return nil
	})
}

func (r *realm) newToken(uses int) string {
	r.Helper()
	text, _, _, err := r.operator().Token(ctx, time.Hour, uses)
	if err != nil {
		r.Fatal(err)
	}
	return text
}

// thief has what leaked, and a program of his own that calls the door.
type thief struct {
	name, id, underlay string
	key                *ecdsa.PrivateKey
	cert               []byte
}

func newThief(name, id, underlay string) *thief {
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return &thief{name: name, id: id, underlay: underlay, key: key}
}

// stolenKey is that of a host, out of its state folder.
func (r *realm) stolenKey(i int) *ecdsa.PrivateKey {
	r.Helper()
	text, err := os.ReadFile(filepath.Join(r.dirs[i], "host.key"))
	if err != nil {
		r.Fatal(err)
	}
	block, _ := pem.Decode(text)
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		r.Fatal(err)
	}
	return key
}

// stolen is who has a host's key and certificate, out of its state folder.
func (r *realm) stolen(i int) *thief {
	r.Helper()
	text, err := os.ReadFile(filepath.Join(r.dirs[i], "host.crt"))
	if err != nil {
		r.Fatal(err)
	}
	block, _ := pem.Decode(text)
	self := r.hosts[i].Self()
	return &thief{name: self.Name, id: self.ID, underlay: self.Underlay[0].String(), key: r.stolenKey(i), cert: block.Bytes}
}

func (h *thief) call(path string, in, out any) error {
	config := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}
	if h.cert != nil {
		config.Certificates = []tls.Certificate{{Certificate: [][]byte{h.cert}, PrivateKey: h.key}}
	}
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, "POST", "https://127.0.0.1:9478"+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, got)
	}
	if err == nil {
		err = json.Unmarshal(got, out)
	}
	return err
}

func (h *thief) request() []byte {
	csr, _ := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: h.name + "@" + h.id}}, h.key)
	return csr
}

// join asks for a certificate by a token.
func (h *thief) join(token string) error {
	secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(token[strings.LastIndexByte(token, '.')+1:]))
	if err != nil {
		return err
	}
	var got struct{ Certificate []byte }
	err = h.call("/v1/join", map[string]any{"secret": secret, "name": h.name, "id": h.id, "underlay": []string{h.underlay}, "request": h.request(), "clock": time.Now()}, &got)
	h.cert = got.Certificate
	return err
}

// authority asks for what those that keep the store have, until it is given or the
// time is over: three seconds, or a minute where it must be given.
func (h *thief) authority(must bool) (key []byte, err error) {
	patience := 3 * time.Second
	if must {
		patience = time.Minute
	}
	var got struct{ AuthorityKey []byte }
	_, err = poll.Until(patience, 300*time.Millisecond, func() error {
		return h.call("/v1/member", map[string]any{"underlay": []string{h.underlay}, "clock": time.Now()}, &got)
	})
	return got.AuthorityKey, err
}

// tokenAttacks are those of who has a token, or a host's certificate. What prevents
// most of them is that a host's key is known: with that key, the door answers.
func tokenAttacks() []ownAttack {
	return []ownAttack{
		{class: "token", name: "a used-up token, for the certificate of a host that exists", modes: "overlay", mount: impersonate},
		{class: "token", name: "a token, for the authority's key in the name of a host that keeps the store", modes: "overlay", mount: usurp},
		{class: "token", name: "a token, with the ID of another host", modes: "overlay", mount: borrowID},
		{class: "token", name: "a token, with the underlay address of another host", modes: "overlay", mount: borrowAddress},
		{class: "token", name: "a used-up token, by a host that was removed and never appeared", modes: "overlay", mount: returns},
		{class: "authority", name: "hosts enough that say they are alive, to become keepers of the store", modes: "overlay", mount: elect},
		{class: "authority", name: "a host's certificate, renewed for another key", modes: "overlay", mount: rekey},
		{class: "authority", name: "a host's certificate, for the authority's key", modes: "overlay", mount: ask},
		{class: "authority", name: "a host's certificate, to name the host a keeper of the store", modes: "overlay", mount: nameItself},
		{class: "authority", name: "a keeper's certificate, to take the place of another keeper", modes: "overlay", mount: displace},
		{class: "authority", name: "a removed host's certificate, at the store", modes: "overlay", mount: linger},
		{class: "authority", name: "a removed host's certificate, at the door", modes: "overlay", mount: renewRemoved},
		{class: "authority", name: "a removed host's watch, which was open before", modes: "overlay", mount: watchOn,
			limit: "etcd looks at rights when a watch begins: a removed host reads on, and writes nothing, until its connection ends"},
		{class: "authority", name: "a keeper's state folder, for all there is", modes: "overlay", mount: signAsOperator,
			limit: "whoever keeps the store has the authority's key and the operator's credential"},
	}
}

// impersonate joins under the name and ID of a host that exists.
func impersonate(t *testing.T, _ string, open bool) bool {
	r := newRealm(t, 2)
	h := newThief("host2", r.hosts[2].Self().ID, "127.0.0.2")
	if open {
		h.key = r.stolenKey(2)
	}
	return r.succeeds(h.join(r.token))
}

// usurp does so with the name of a host that keeps the store, from an address of
// its own, and asks for what such hosts have.
func usurp(t *testing.T, _ string, open bool) bool {
	r := newRealm(t, 3)
	r.promote(2, 3)
	h := newThief("host2", r.hosts[2].Self().ID, "127.0.0.66")
	if open {
		h.key, h.underlay = r.stolenKey(2), "127.0.0.2"
	}
	if !r.succeeds(h.join(r.token)) {
		return false
	}
	key, err := h.authority(open)
	return r.succeeds(err) && len(key) > 0
}

// borrowID joins as a new host with the ID of another, so that the other one is
// removed with it.
func borrowID(t *testing.T, _ string, open bool) bool {
	r := newRealm(t, 2)
	h := newThief("evil", r.hosts[2].Self().ID, "127.0.0.66")
	if open {
		h.id = "0123456789abcdef"
	}
	return r.succeeds(h.join(r.newToken(1)))
}

// borrowAddress joins as a new host at the address where another keeps the store.
func borrowAddress(t *testing.T, _ string, open bool) bool {
	r := newRealm(t, 1)
	h := newThief("evil", "0123456789abcdef", "127.0.0.1")
	if open {
		h.underlay = "127.0.0.66"
	}
	return r.succeeds(h.join(r.newToken(1)))
}

// returns joins, never appears, is removed, and joins by the same token.
func returns(t *testing.T, _ string, open bool) bool {
	r := newRealm(t, 1)
	h := newThief("ghost", "0123456789abcdef", "127.0.0.66")
	if err := h.join(r.token); err != nil {
		t.Fatal(err)
	}
	if !open {
		if err := r.operator().Expel(ctx, "ghost"); err != nil {
			t.Fatal(err)
		}
	}
	return r.succeeds(h.join(r.token))
}

// elect has a cluster of one keeper get two hosts that say they are alive, and
// waits until one has the authority's key; opened, the operator names them.
func elect(t *testing.T, _ string, open bool) bool {
	r := newRealm(t, 3)
	if open {
		r.promote(2, 3)
	}
	patience := 6 * time.Second
	if open {
		patience = time.Minute
	}
	return within(patience, func() bool {
		for i := 2; i <= 3; i++ {
			if _, err := os.Stat(filepath.Join(r.dirs[i], "ca.key")); err == nil {
				return true
			}
		}
		return false
	})
}

// rekey has a host's certificate for a while, and renews it for a key that stays.
func rekey(t *testing.T, _ string, open bool) bool {
	r := newRealm(t, 2)
	lasting := newThief("host2", r.hosts[2].Self().ID, "").request()
	h := r.stolen(2)
	if open {
		lasting = h.request()
	}
	var got struct{ Certificate []byte }
	return r.succeeds(h.call("/v1/renew", map[string]any{"request": lasting, "clock": time.Now()}, &got))
}

// ask has a host's certificate, and asks for what keepers of the store have.
func ask(t *testing.T, _ string, open bool) bool {
	r := newRealm(t, 2)
	if open {
		if err := r.operator().Promote(ctx, []string{"host2"}); err != nil {
			t.Fatal(err)
		}
	}
	key, err := r.stolen(2).authority(open)
	return r.succeeds(err) && len(key) > 0
}

// nameItself writes what an operator writes to name a keeper.
func nameItself(t *testing.T, _ string, open bool) bool {
	r := newRealm(t, 2)
	s := r.hosts[2].Store()
	if open {
		s = r.operator().Store()
	}
	_, _, err := s.Commit(ctx, store.Change{Put: []store.Entry{{Key: join.KeysPrefix + "hosts/host2/keeper", Value: []byte("{}")}}})
	return r.succeeds(err)
}

// displace is named to keep the store, and says that it is where another keeper is:
// the door would take that one's member for its own that has lost its records.
func displace(t *testing.T, _ string, open bool) bool {
	r := newRealm(t, 2)
	h := r.stolen(2)
	r.hosts[2].Close() // the attacker has it
	delete(r.hosts, 2)
	if err := r.operator().Promote(ctx, []string{"host2"}); err != nil {
		t.Fatal(err)
	}
	if !open {
		h.underlay = "127.0.0.1"
	}
	_, err := h.authority(open)
	return r.succeeds(err)
}

// linger reads the store by the certificate of a host that was removed.
func linger(t *testing.T, _ string, open bool) bool {
	r := newRealm(t, 2)
	r.expelUnless(open)
	_, err := r.hosts[2].Store().Read(ctx, cluster.Prefix)
	return r.succeeds(err)
}

// watchOn reads what comes after the host was removed, by a watch from before.
func watchOn(t *testing.T, _ string, _ bool) bool {
	r := newRealm(t, 2)
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	events := r.hosts[2].Store().Watch(limited, cluster.Prefix+"networks/")
	<-events // it is open
	r.expelUnless(false)
	secret := store.Entry{Key: cluster.Prefix + "networks/later", Value: []byte("{}")}
	if _, _, err := r.operator().Store().Commit(ctx, store.Change{Put: []store.Entry{secret}}); err != nil {
		t.Fatal(err)
	}
	for e := range events {
		if slices.ContainsFunc(e.Entries, func(x store.Entry) bool { return x.Key == secret.Key }) {
			return true
		}
	}
	return false
}

// signAsOperator signs itself an operator's certificate with a keeper's files, and
// reads what only operators may.
func signAsOperator(t *testing.T, _ string, _ bool) bool {
	r := newRealm(t, 1)
	var pems [2][]byte
	for i, name := range []string{"ca.crt", "ca.key"} {
		text, err := os.ReadFile(filepath.Join(r.dirs[1], name))
		if err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(text)
		pems[i] = block.Bytes
	}
	ca, err := x509.ParseCertificate(pems[0])
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.ParseECPrivateKey(pems[1])
	if err != nil {
		t.Fatal(err)
	}
	own := newThief("root", "", "").key
	cert, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "root"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, ca, own.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	s, err := store.Dial(store.Options{Endpoints: []string{"https://127.0.0.1:9479"}, Log: slog.New(slog.DiscardHandler),
		TLS: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: own}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	got, err := s.Read(limited, join.KeysPrefix)
	return r.succeeds(err) && len(got.Entries) > 0
}

// renewRemoved asks for a new one by it.
func renewRemoved(t *testing.T, _ string, open bool) bool {
	r := newRealm(t, 2)
	h := r.stolen(2)
	r.expelUnless(open)
	var got struct{ Certificate []byte }
	return r.succeeds(h.call("/v1/renew", map[string]any{"request": h.request(), "clock": time.Now()}, &got))
}

// expelUnless removes the second host.
func (r *realm) expelUnless(open bool) {
	r.Helper()
	if open {
		return
	}
	if err := r.operator().Expel(ctx, "host2"); err != nil {
		r.Fatal(err)
	}
}

func (r *realm) succeeds(err error) bool {
	if err != nil {
		r.Logf("in vain: %v", err)
	}
	return err == nil
}
