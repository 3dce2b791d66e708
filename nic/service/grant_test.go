package service

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic/remote"
)

// TestGrants: a grant is good until it is replaced or revoked; then it is refused at once.
func TestGrants(t *testing.T) {
	t.Parallel()
	s := serve(t, newWorld(), "127.0.0.1")
	first := s.client(t, "a")
	_, err := first.List(ctx)
	must(t, err)
	second := s.client(t, "a")
	_, err = first.List(ctx)
	refused(t, "replaced", err, heddle.BadGrant)
	_, err = second.List(ctx)
	must(t, err)
	if a, err := s.state.GrantFile("a"); err != nil || a == "" {
		t.Error(a, err)
	}
	if b, err := s.state.GrantFile("b"); err != nil || b != "" {
		t.Error(b, err)
	}
	if found, err := s.state.Revoke("a"); !found || err != nil {
		t.Error(found, err)
	}
	if found, err := s.state.Revoke("a"); found || err != nil {
		t.Error(found, err)
	}
	for what, err := range map[string]error{
		"list": errOf(second.List(ctx)), "offer": errOf(second.Describe(ctx)), "plug": errOf(second.Plug(ctx, order("x"))), "unplug": second.Unplug(ctx, "x"),
	} {
		refused(t, what, err, heddle.BadGrant)
	}
	if got := s.world.took(); got != "" {
		t.Error(got)
	}
}

func errOf[T any](_ T, err error) error { return err }

// TestUnknownCallers: whoever has no grant gets the same answer, after the same time, whatever is wrong.
func TestUnknownCallers(t *testing.T) {
	t.Parallel()
	s := serve(t, newWorld(), "127.0.0.1")
	g, other, gone := s.grant(t, "a"), s.grant(t, "b"), s.grant(t, "c") // c is not in the configuration
	broken := filepath.Join(s.state.grants(), "d.json")
	must(t, os.WriteFile(broken, []byte(`{"secret":""}`), 0o600))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: 10 * time.Second}
	ask := func(path, header string) (int, string, time.Duration, bool) {
		req, err := http.NewRequest("GET", "https://"+s.addr+path, nil)
		must(t, err)
		if header != "" {
			req.Header.Set("Authorization", header)
		}
		begun := time.Now()
		resp, err := client.Do(req)
		must(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		must(t, err)
		return resp.StatusCode, string(body), time.Since(begun), resp.Close
	}
	if status, body, took, _ := ask("/v1/nics", "Bearer a."+g.Secret); status != 200 {
		t.Error(status, body, took)
	}
	want := ""
	for _, header := range []string{
		"", "Bearer", "Bearer ", "Bearer a", "Bearer a.", "Basic a." + g.Secret, "bearer a." + g.Secret,
		"Bearer a." + other.Secret, "Bearer b." + g.Secret, "Bearer c." + gone.Secret, "Bearer d." + g.Secret, "Bearer nobody." + g.Secret,
		"Bearer ../grants/a." + g.Secret, "Bearer a." + g.Secret[:51], "Bearer a." + g.Secret + "a", "Bearer a." + strings.ToUpper(g.Secret),
		"Bearer a." + g.Secret[:51] + "~", "Bearer ." + g.Secret,
	} {
		status, body, took, closed := ask("/v1/nics", header)
		if want == "" {
			want = body
		}
		var e heddle.Error
		if err := json.Unmarshal([]byte(body), &e); err != nil || e.Code != heddle.BadGrant || status != 401 || body != want || took < refusalTime || !closed {
			t.Errorf("%.20q: %d %q after %v; closed: %v", header, status, body, took, closed)
		}
	}
	if status, body, _, _ := ask("/v1/else", ""); status != 401 || body != want {
		t.Error("a caller without a grant is told which paths there are: ", status, body)
	}
}

// TestManInTheMiddle: a service with another certificate gets no secret.
func TestManInTheMiddle(t *testing.T) {
	right, wrong := serve(t, newWorld(), "127.0.0.1"), serve(t, newWorld(), "127.0.0.1")
	g := right.grant(t, "a")
	g.Address = wrong.addr
	_, err := remote.New(g).Plug(ctx, order("x"))
	refused(t, "another certificate", err, heddle.BadGrant)
	if err == nil || !strings.HasPrefix(err.Error(), "call NIC service "+wrong.addr+": its certificate is not the one") {
		t.Error(err)
	}
	g.Address = right.addr
	if _, err := remote.New(g).Plug(ctx, order("x")); err != nil || wrong.world.took() != "" {
		t.Error(err)
	}
	// Less than TLS 1.3 is not spoken, by neither end.
	if c, err := tls.Dial("tcp", right.addr, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}); err == nil {
		c.Close()
		t.Error("TLS 1.2 is accepted")
	}
}

// TestState: the folder keeps its certificate, and hashes alone; only its owner reads it.
func TestState(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s, err := OpenState(dir)
	must(t, err)
	g, err := s.Grant("a", "192.0.2.1:7950")
	must(t, err)
	again, err := OpenState(dir)
	must(t, err)
	if other, err := again.Grant("b", "[2001:db8::1]:7950"); err != nil || other.Fingerprint != g.Fingerprint || other.Secret == g.Secret || len(g.Secret) != 52 {
		t.Error(other, g, err)
	}
	must(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		must(t, err)
		is, err := os.Stat(path)
		must(t, err)
		if is.Mode().Perm()&0o077 != 0 {
			t.Error(path, is.Mode())
		}
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), g.Secret) {
			t.Error(path, "has the secret")
		}
		return nil
	}))
	for _, bad := range []string{"", "../a", "a/b", ".", "a\n"} {
		_, err := s.Grant(bad, "192.0.2.1:7950")
		refused(t, bad, err, heddle.BadArgument)
		_, err = s.Revoke(bad)
		refused(t, bad, err, heddle.BadArgument)
	}
	for _, bad := range []string{"", "192.0.2.1", "0.0.0.0:1", "host:1", "192.0.2.1:0"} {
		_, err := s.Grant("a", bad)
		refused(t, bad, err, heddle.BadArgument)
	}
}

// TestStateBroken: grants name the certificate, so it is not made anew while its parts are there, except by a crash
// in its making.
func TestStateBroken(t *testing.T) {
	dir := t.TempDir()
	s, err := OpenState(dir)
	must(t, err)
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	must(t, os.Remove(cert)) // as after a crash
	anew, err := OpenState(dir)
	if err != nil || !anew.cert.key.Equal(s.cert.key) {
		t.Error(err)
	}
	keyText, err := os.ReadFile(key)
	must(t, err)
	must(t, os.Chmod(key, 0o640))
	_, err = OpenState(dir)
	refused(t, "open key", err, heddle.OpenSecret)
	must(t, os.Chmod(key, 0o600))
	other, err := OpenState(t.TempDir())
	must(t, err)
	otherKey, err := os.ReadFile(filepath.Join(other.dir, "key.pem"))
	must(t, err)
	for what, text := range map[string][]byte{"no key": nil, "another key": otherKey, "half a key": keyText[:40]} {
		must(t, os.Remove(key))
		if text != nil {
			must(t, os.WriteFile(key, text, 0o600))
		}
		_, err = OpenState(dir)
		refused(t, what, err, heddle.LedgerBroken)
		if left, _ := os.ReadFile(key); string(left) != string(text) {
			t.Error(what, ": the key was changed")
		}
		must(t, os.WriteFile(key, keyText, 0o600))
	}
	must(t, os.WriteFile(cert, []byte("x"), 0o600))
	_, err = OpenState(dir)
	refused(t, "no certificate in its file", err, heddle.LedgerBroken)
}
