package attack_test

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"io/fs"
	"log"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/join"
	"github.com/heddle-network/heddle/store"
)

// custodyAttacks go for the authority's key while it is off the hosts, or lent.
func custodyAttacks() []ownAttack {
	return []ownAttack{
		{class: "authority", name: "a keeper's state folder while the authority's key is off the hosts, for a certificate of another host", modes: "overlay", mount: signAsHost},
		{class: "authority", name: "a keeper's certificate, for the authority's key while it is lent", modes: "overlay", mount: askForLoan},
		{class: "authority", name: "a host's certificate, to take the authority's key off the hosts", modes: "overlay", mount: withdrawByHost},
		{class: "authority", name: "a host's certificate, to put the authority's key on the hosts' disks", modes: "overlay", mount: returnByHost},
		{class: "authority", name: "the operator's credential, to lend the hosts a key of one's own", modes: "overlay", mount: lendForged},
		{class: "authority", name: "a former keeper's certificate, to pose as a keeper to whom the authority's key is lent", modes: "overlay", mount: poseAsKeeper},
	}
}

// withdraw has the operator export the authority's key and take it off the hosts.
func (r *realm) withdraw() (key []byte) {
	r.Helper()
	o := r.operator()
	key, err := o.ExportAuthority()
	if err == nil {
		_, err = o.WithdrawAuthority(ctx, key)
	}
	if err != nil {
		r.Fatal(err)
	}
	return key
}

func (r *realm) lend(key []byte) join.Authority {
	r.Helper()
	a, err := r.operator().LendAuthority(ctx, key, time.Hour)
	if err != nil {
		r.Fatal(err)
	}
	return a
}

// certificate reads one out of a host's state folder.
func (r *realm) certificate(i int, name string) *x509.Certificate {
	r.Helper()
	text, err := os.ReadFile(filepath.Join(r.dirs[i], name))
	if err != nil {
		r.Fatal(err)
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		if err == nil && (name != "operator.pem" || !c.IsCA) {
			return c
		}
	}
	r.Fatalf("no certificate in %s", name)
	return nil
}

// keyOf finds the private key of a certificate anywhere in a folder, also in files that
// nobody knows of.
func (r *realm) keyOf(c *x509.Certificate, dir string) (found *ecdsa.PrivateKey) {
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
		text, _ := os.ReadFile(path)
		for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
			if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil && key.PublicKey.Equal(c.PublicKey) {
				found = key
			}
		}
		return nil
	})
	return found
}

// asOperator is who has the operator's credential out of a keeper's folder.
func (r *realm) asOperator() *thief {
	r.Helper()
	c := r.certificate(1, "operator.pem")
	return &thief{name: "root", underlay: "127.0.0.1", cert: c.Raw, key: r.keyOf(c, r.dirs[1])}
}

// signAsHost has all that is in a keeper's folder, and makes itself a certificate in the
// name of another host; with that it reads the store.
func signAsHost(t *testing.T, _ string, open bool) bool {
	r := newRealm(t, 2)
	if !open {
		r.withdraw()
	}
	ca := r.certificate(1, "ca.crt")
	key := r.keyOf(ca, r.dirs[1])
	if key == nil { // the doors may have it
		var got struct{ AuthorityKey []byte }
		for _, h := range []*thief{r.stolen(1), r.asOperator()} {
			r.succeeds(h.call("/v1/member", map[string]any{"underlay": []string{"127.0.0.1"}, "clock": time.Now()}, &got))
			r.succeeds(h.call("/v1/authority", map[string]any{"clock": time.Now()}, &got))
		}
		if len(got.AuthorityKey) == 0 {
			return false
		}
		t.Fatal("a door gave it")
	}
	self := r.hosts[2].Self()
	own := newThief(self.Name, self.ID, "")
	cert, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: own.name + "@" + own.id},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, ca, own.key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	s, err := store.Dial(store.Options{Endpoints: []string{"https://127.0.0.1:9479"}, Log: slog.New(slog.DiscardHandler),
		TLS: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: own.key}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.Read(ctx, cluster.Prefix)
	return r.succeeds(err)
}

// askForLoan has the folder of a host that is named as a keeper, and asks a keeper who
// has the key in memory for what keepers get; opened, the key is on that one's disk.
func askForLoan(t *testing.T, _ string, open bool) bool {
	r := newRealm(t, 2)
	if !open {
		r.lend(r.withdraw())
	}
	h := r.stolen(2)
	r.hosts[2].Close() // the attacker has it
	delete(r.hosts, 2)
	if err := r.operator().Promote(ctx, []string{h.name}); err != nil {
		t.Fatal(err)
	}
	server := &thief{key: newThief("", "", "").key}
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "heddle:server"}}, server.key)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ AuthorityKey, Serving []byte }
	err = h.call("/v1/member", map[string]any{"underlay": []string{h.underlay}, "clock": time.Now(), "serving": csr}, &got)
	if err != nil || (len(got.AuthorityKey) == 0) != (len(got.Serving) > 0) {
		t.Fatalf("a keeper that an operator named was not let in: %v, %+v", err, got)
	}
	return len(got.AuthorityKey) > 0
}

// withdrawByHost writes the record at which keepers delete the key.
func withdrawByHost(t *testing.T, _ string, open bool) bool {
	r := newRealm(t, 2)
	s := r.hosts[2].Store()
	if open {
		s = r.operator().Store()
	}
	_, _, err := s.Commit(ctx, store.Change{Put: []store.Entry{{Key: join.WithdrawnKey, Value: []byte("{}")}}})
	return r.succeeds(err)
}

// returnByHost deletes that record, and has a keeper write the key, which leaked once.
func returnByHost(t *testing.T, _ string, open bool) bool {
	r := newRealm(t, 2)
	key := r.withdraw()
	s, h := r.hosts[2].Store(), r.stolen(2)
	if open {
		s, h = r.operator().Store(), r.asOperator()
	}
	_, _, err := s.Commit(ctx, store.Change{Delete: []string{join.WithdrawnKey}})
	r.succeeds(err)
	return r.succeeds(h.call("/v1/authority", map[string]any{"key": key, "clock": time.Now()}, &struct{}{})) && r.keyOf(r.certificate(1, "ca.crt"), r.dirs[1]) != nil
}

// lendForged has the operator's credential, and gives the keepers a key by which they
// would sign for the attacker; opened, it is the true one.
func lendForged(t *testing.T, _ string, open bool) bool {
	r := newRealm(t, 1)
	key := r.withdraw()
	h := r.asOperator()
	if !open {
		der, err := x509.MarshalECPrivateKey(newThief("", "", "").key)
		if err != nil {
			t.Fatal(err)
		}
		key = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	}
	return r.succeeds(h.call("/v1/authority", map[string]any{"key": key, "seconds": 60, "clock": time.Now()}, &struct{}{}))
}

// poseAsKeeper has the folder of a host that keeps the store, and sits at the address of
// another one that is named and away, with a door of its own; opened, at the address
// that its certificate is for.
func poseAsKeeper(t *testing.T, _ string, open bool) bool {
	r := newRealm(t, 3)
	if err := r.operator().Promote(ctx, []string{"host2"}); err != nil {
		t.Fatal(err)
	}
	if !within(time.Minute, func() bool { return r.hosts[1].Roles()["host2"] == "learner" }) {
		t.Fatal("host2 does not keep the store")
	}
	served := r.certificate(2, "server.crt")
	chain := tls.Certificate{Certificate: [][]byte{served.Raw, r.certificate(2, "ca.crt").Raw}, PrivateKey: r.keyOf(served, r.dirs[2])}
	for _, i := range []int{2, 3} {
		r.hosts[i].Close()
		delete(r.hosts, i)
	}
	if err := r.operator().Promote(ctx, []string{"host3"}); err != nil {
		t.Fatal(err)
	}
	address := "127.0.0.3:9478"
	if open {
		address = "127.0.0.2:9478"
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	stolen := make(chan bool, 10)
	door := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var q struct{ Key []byte }
		if json.NewDecoder(req.Body).Decode(&q) == nil && len(q.Key) > 0 {
			stolen <- true
		}
		_, _ = io.WriteString(w, "{}")
	})}
	go door.Serve(tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{chain}}))
	defer door.Close()
	for _, k := range r.lend(r.withdraw()).Keepers {
		t.Logf("%+v", k)
	}
	return len(stolen) > 0
}
