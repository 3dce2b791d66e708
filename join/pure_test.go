package join

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/heddle-network/heddle"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func wantCode(t *testing.T, err error, code heddle.Code, words ...string) {
	t.Helper()
	if !errors.Is(err, code.Sentinel()) {
		t.Fatalf("got %v, want code %s", err, code)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestHostNames(t *testing.T) {
	for _, good := range []string{"a", "host-1.example.org", "H_2", strings.Repeat("x", 63)} {
		if err := CheckHostName(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "root", "Root", "-a", "a/b", "a@b", "heddle:server", "a b", "ä", strings.Repeat("x", 64)} {
		if err := CheckHostName(bad); !errors.Is(err, heddle.BadName.Sentinel()) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestTokens(t *testing.T) {
	made := newToken([16]byte{1, 2, 3})
	read := must(parseToken(" " + made.String() + "\n"))
	if read != made {
		t.Fatalf("%v became %v", made, read)
	}
	if other := newToken(made.pin); other.hash() == made.hash() {
		t.Fatal("two tokens with one hash")
	}
	text := made.String()
	for _, bad := range []string{"", "hdl1", text[:len(text)-1], text + "a", strings.Replace(text, "hdl1", "hdl2", 1), strings.ToUpper(text), text + ".x"} {
		_, err := parseToken(bad)
		wantCode(t, err, heddle.BadToken)
	}
}

func TestTokenUses(t *testing.T) {
	r := tokenRecord{Expires: now, Uses: 2}
	a, b, c := identity{"a", "1"}, identity{"b", "2"}, identity{"c", "3"}
	for _, g := range []identity{a, b, a} { // a did not get its answer
		if err := r.redeem(g, now); err != nil {
			t.Fatal(err)
		}
	}
	wantCode(t, r.redeem(c, now), heddle.BadToken, "used up")
	wantCode(t, r.redeem(a, now.Add(time.Second)), heddle.BadToken, "expired", formatTime(now))
	if len(r.Used) != 2 {
		t.Errorf("used by %v", r.Used)
	}
}

func TestCertificates(t *testing.T) {
	ca, strange := must(newAuthority(now)), must(newAuthority(now))
	g := identity{"host1", "0123456789abcdef"}
	key := must(newKey())
	public := must(requestedKey(must(request(g.String(), key)), g.String()))
	if must(keyFingerprint(public)) != must(keyFingerprint(key.Public())) || must(keyFingerprint(public)) == must(keyFingerprint(must(newKey()).Public())) {
		t.Error("a fingerprint is not that of the key")
	}
	cert := must(ca.sign(g.String(), public, nil, now, hostLife))
	if got, ok := parseIdentity(cert.Subject.CommonName); !ok || got != g {
		t.Errorf("certificate of %v", got)
	}
	if err := verify(ca.cert, cert, x509.ExtKeyUsageClientAuth); err != nil {
		t.Error(err)
	}
	if verify(strange.cert, cert, x509.ExtKeyUsageClientAuth) == nil {
		t.Error("another authority's certificate passes")
	}
	if verify(ca.cert, cert, x509.ExtKeyUsageServerAuth) == nil {
		t.Error("a host that keeps no store can pose as one that does")
	}
	_, err := requestedKey(must(request("root", key)), g.String())
	wantCode(t, err, heddle.BadJSON, "root")
	csr := must(request(g.String(), key))
	csr[len(csr)-1] ^= 1
	_, err = requestedKey(csr, g.String())
	wantCode(t, err, heddle.BadJSON)
	if last := must(ca.sign("x", key.Public(), nil, now.Add(authorityLife-time.Hour), hostLife)); last.NotAfter.After(ca.cert.NotAfter) {
		t.Error("a certificate outlives its authority")
	}
}

func TestDates(t *testing.T) {
	ca := must(newAuthority(now))
	cert := must(ca.sign("host1", must(newKey()).Public(), nil, now, hostLife))
	for _, skew := range []time.Duration{0, -time.Hour, time.Hour} { // clocks an hour apart
		if err := checkDates(cert, now.Add(skew), "host2", now); err != nil {
			t.Error(err)
		}
	}
	late := now.Add(hostLife + time.Minute)
	err := checkDates(cert, late, "host2", now)
	wantCode(t, err, heddle.StoreRefused, "host1", "expired", formatTime(cert.NotBefore), formatTime(cert.NotAfter), "host2", formatTime(late), formatTime(now))
	wantCode(t, checkDates(cert, now.Add(-25*time.Hour), "host2", now), heddle.StoreRefused, "not valid yet")
	if dueForRenewal(cert, now.Add(hostLife/2)) || !dueForRenewal(cert, now.Add(hostLife*7/10)) {
		t.Error("not renewed at two thirds of its life")
	}
}

func TestFiles(t *testing.T) {
	f := folder(t.TempDir() + "/new")
	if err := errors.Join(f.write("a", []byte("1")), f.write("a", []byte("2"))); err != nil {
		t.Fatal(err)
	}
	st, dir := must(os.Stat(f.path("a"))), must(os.Stat(string(f)))
	if st.Mode().Perm() != 0o600 || dir.Mode().Perm() != 0o700 {
		t.Errorf("file %v, folder %v", st.Mode(), dir.Mode())
	}
	if text := must(f.read("a")); string(text) != "2" {
		t.Errorf("read %q", text)
	}
	if left := must(os.ReadDir(string(f))); len(left) != 1 {
		t.Errorf("left over: %v", left)
	}
	_, err := f.read("b")
	wantCode(t, err, heddle.LedgerBroken)
}

// TestStrangeDoors calls what is no join door, or another cluster's.
func TestStrangeDoors(t *testing.T) {
	ca, other := must(newAuthority(now)), must(newAuthority(now))
	listen := func(name string, signer, shown authority) string {
		p := must(signer.issue(name, []netip.Addr{netip.MustParseAddr("127.0.0.1")}, now, hostLife))
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		c := p.tls()
		c.Certificate = append(c.Certificate, shown.cert.Raw)
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.TLS = &tls.Config{Certificates: []tls.Certificate{c}}
		s.StartTLS()
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	gone := must(net.Listen("tcp", "127.0.0.1:0"))
	gone.Close()
	caller := doorCaller{pin: fingerprint(ca.cert), now: func() time.Time { return now }}
	for _, c := range []struct {
		name, address string
		code          heddle.Code
		word          string
	}{
		{"nobody", gone.Addr().String(), heddle.StoreDown, "refused"},
		{"clear", plain.Listener.Addr().String(), heddle.BadArgument, "TLS"},
		{"a website", listen("www.example.org", other, other), heddle.BadArgument, "www.example.org"},
		{"a host that keeps no store", listen("host2@0123456789abcdef", ca, ca), heddle.BadArgument, "host2"},
		{"another cluster", listen(serverName, other, other), heddle.BadToken, "another cluster"},
		{"another cluster with our authority's certificate", listen(serverName, other, ca), heddle.BadToken, "another cluster"},
		{"not a door", listen(serverName, ca, ca), heddle.BadArgument, "404"},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantCode(t, caller.call(context.Background(), c.address, pathJoin, struct{}{}, &struct{}{}), c.code, c.word)
		})
	}
}

func TestDoorAddresses(t *testing.T) {
	for in, want := range map[string]string{"192.0.2.1": "192.0.2.1:9478", "192.0.2.1:1": "192.0.2.1:1", "2001:db8::1": "[2001:db8::1]:9478",
		"[2001:db8::1]": "[2001:db8::1]:9478", "[2001:db8::1]:1": "[2001:db8::1]:1", "host1": "host1:9478"} {
		if got, err := doorAddress(in); got != want || err != nil {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
	for _, bad := range []string{"", "a:b", ":1", "a:70000"} {
		if got, err := doorAddress(bad); !errors.Is(err, heddle.BadArgument.Sentinel()) {
			t.Errorf("%q: %s, %v", bad, got, err)
		}
	}
}

// TestRefused distinguishes refusals of the store from failures that pass.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		err  error
		code heddle.Code
	}{
		{rpctypes.ErrNoLeader, heddle.StoreDown},
		{rpctypes.ErrLeaderChanged, heddle.StoreDown},
		{rpctypes.ErrTimeout, heddle.StoreDown},
		{rpctypes.ErrGRPCUnhealthy, heddle.StoreDown},
		{rpctypes.ErrGRPCLeaderChanged, heddle.StoreDown},
		{context.DeadlineExceeded, heddle.StoreDown},
		{rpctypes.ErrPermissionDenied, heddle.StoreRefused},
		{rpctypes.ErrMemberNotEnoughStarted, heddle.StoreRefused},
		{rpctypes.ErrGRPCPeerURLExist, heddle.StoreRefused},
	} {
		wantCode(t, storeError("list members of", "store", c.err), c.code)
	}
}
