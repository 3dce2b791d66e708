package store_test

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
	"github.com/heddle-network/heddle/test/port"
)

// TestStrangers has hosts with insufficient certificates call.
func TestStrangers(t *testing.T) {
	t.Parallel()
	a, other := newAuthority(t), newAuthority(t)
	k := newEmbedded(t, 0, a)
	k.start()
	commit(t, dial(t, k), store.Change{Put: put("/x", "1")})

	early := a.client(t, "host-b", time.Hour)
	early.Time = func() time.Time { return time.Now().Add(30 * time.Hour) }
	unknown := a.client(t, "host-b", time.Hour)
	unknown.Certificates = other.client(t, "host-b", time.Hour).Certificates
	none := a.client(t, "host-b", time.Hour)
	none.Certificates = nil
	for _, c := range []struct {
		name    string
		options store.Options
		words   []string
	}{
		{"a server of another authority", store.Options{TLS: other.client(t, "host-b", time.Hour)}, []string{"unknown authority"}},
		{"a client of another authority", store.Options{TLS: unknown}, []string{"tls: "}},
		{"no certificate", store.Options{TLS: none}, []string{"certificate required", "shows no certificate"}},
		{"an expired certificate", store.Options{TLS: a.client(t, "host-b", -time.Hour)}, []string{"(host-b) is valid from ", "its clock says " + time.Now().UTC().Format("2006-01-02")}},
		{"a clock a day ahead", store.Options{TLS: early}, []string{"expired", "its clock says " + time.Now().Add(30*time.Hour).UTC().Format("2006-01-02")}},
	} {
		c.options.Endpoints = []string{k.endpoint()}
		s := dialOptions(t, c.options)
		_, _, err := s.Commit(t.Context(), store.Change{Put: put("/stranger", "1")})
		_, readErr := s.Read(t.Context(), "/x")
		for _, err := range []error{err, readErr} {
			if !errors.Is(err, heddle.StoreRefused.Sentinel()) {
				t.Errorf("%s: %v, want it refused", c.name, err)
				continue
			}
			for _, w := range append(c.words, k.endpoint()) {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%s: %q does not say %q", c.name, err, w)
				}
			}
		}
		until(t, c.name+": health says so", func() (bool, any) {
			h := s.Health()
			return h.State == "down" && strings.Contains(h.Detail, string(heddle.StoreRefused)), h
		})
	}
	clear := dialOptions(t, store.Options{Endpoints: []string{k.endpoint()}, Patience: time.Second})
	if _, _, err := clear.Commit(t.Context(), store.Change{Put: put("/stranger", "1")}); err == nil {
		t.Error("a store of TLS took a change in clear")
	}
	if r := read(t, dial(t, k), "/stranger"); len(r.Entries) != 0 {
		t.Errorf("a stranger wrote %+v", r)
	}
}

// TestServerRefuses has starts that cannot work.
func TestServerRefuses(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := newEmbedded(t, 0, nil).options
	taken.Client[0] = port.Free(t)
	taken.Peer[0] = addrPort(l.Addr())
	nowhere := newEmbedded(t, 0, nil).options
	nowhere.Client[0] = netip.MustParseAddrPort("240.0.0.1:9479") // no host has one of class E (RFC 1112, 4)
	noFile := newEmbedded(t, 0, newAuthority(t)).options
	noFile.TLS.CA = "/nowhere"
	left := newEmbedded(t, 0, nil).options
	left.Initial, left.Existing = map[string]string{"one": "http://" + left.Peer[0].String(), "two": "http://" + l.Addr().String()}, true
	garbage := newEmbedded(t, 0, nil).options
	if err := os.MkdirAll(filepath.Join(garbage.Dir, "member", "snap"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(garbage.Dir, "member", "snap", "db"), []byte(strings.Repeat("no database ", 9000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		options store.ServerOptions
		code    heddle.Code
		words   string
	}{
		{"a port that is taken", taken, heddle.PortTaken, taken.Peer[0].String()},
		{"an address of another host", nowhere, heddle.BadAddress, "240.0.0.1"},
		{"no certificate", noFile, heddle.StoreRefused, "/nowhere"},
		{"no address", store.ServerOptions{Name: "x", Dir: t.TempDir()}, heddle.BadArgument, "address"},
		{"a cluster that is not there", left, heddle.StoreDown, left.Name},
		{"data that is none", garbage, heddle.StoreStrange, garbage.Dir},
	} {
		began := time.Now()
		s, err := store.StartServer(c.options)
		if err == nil {
			t.Errorf("%s: it started", c.name)
			s.Close()
			continue
		}
		if !errors.Is(err, c.code.Sentinel()) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, want %s and %q", c.name, err, c.code, c.words)
		}
		t.Logf("%s, after %v: %v", c.name, time.Since(began).Round(time.Millisecond), err)
	}
	once := newEmbedded(t, 0, nil)
	once.start()
	if info, err := os.Stat(once.options.Dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the data's folder: %v, %v", info.Mode(), err)
	}
	twice := newEmbedded(t, 0, nil).options
	twice.Dir = once.options.Dir
	if _, err := store.StartServer(twice); !errors.Is(err, heddle.AgentRuns.Sentinel()) {
		t.Errorf("two servers of one folder: %v", err)
	}
}
