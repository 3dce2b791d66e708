package main

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

// parsed is the configuration that a command line comes to.
func parsed(args ...string) (config, error) {
	var c config
	cmd := newCommand(func(_ context.Context, got config) error { c = got; return nil })
	cmd.SetArgs(args)
	return c, cmd.Execute()
}

func TestStoreFlags(t *testing.T) {
	joined := t.TempDir()
	if err := os.MkdirAll(joined+"/cluster", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(joined+"/cluster/host.json", []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	secret := joined + "/token"
	if err := os.WriteFile(secret, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, embedded := range map[string]bool{
		"":                 false,
		"--store none":     false,
		"--store embedded": true,
		"--join 192.0.2.1 --token-file " + secret:                         true,
		"--store embedded --join 192.0.2.1 --token-file " + secret:        true,
		"--store etcd://192.0.2.1:2379,[2001:db8::1]:2379 --store-ca a":   false,
		"--store etcd+insecure://192.0.2.1:2379":                          false,
		"--store etcd://192.0.2.1:2379 --store-cert a --store-key b":      false,
		"--state-dir " + joined:                                           true,
		"--store none --state-dir " + joined:                              false,
		"--store embedded --state-dir " + joined:                          true,
		"--join 192.0.2.1 --state-dir " + joined:                          true,
		"--store embedded --underlay eth0,2001:db8::1 --tunnel-port 8472": true,
	} {
		c, err := parsed(strings.Fields(line)...)
		if err != nil {
			t.Errorf("%s: %v", line, err)
		} else if c.embedded() != embedded {
			t.Errorf("%s: embedded %v", line, c.embedded())
		}
	}
	for line, word := range map[string]string{
		"--store redis":            "none, embedded",
		"--store etcd://192.0.2.1": "ports",
		"--store etcd://":          "ports",
		"--join 192.0.2.1":         "--token-file is not given",
		"--token-file x":           "--join is not given",
		"--token-fd 0":             "--join is not given",
		"--store none --join 192.0.2.1 --token-file x":               "--join",
		"--store etcd://192.0.2.1:1 --join 192.0.2.1 --token-file x": "--join",
		"--store embedded --store-ca a":                              "external etcd",
		"--store etcd+insecure://192.0.2.1:1 --store-ca a":           "external etcd",
		"--store etcd://192.0.2.1:1 --store-cert a":                  "both files",
		"--tunnel-port 0":                                      "65535",
		"--force-new-store --store embedded":                   "no part in an embedded store",
		"--force-new-store --store none --state-dir " + joined: "no part in an embedded store",
	} {
		if _, err := parsed(strings.Fields(line)...); heddle.KindOf(err) != heddle.Usage || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestUnderlay(t *testing.T) {
	prefixes := func(all ...string) (out []netip.Prefix) {
		for _, a := range all {
			out = append(out, netip.MustParsePrefix(a))
		}
		return out
	}
	host := heddle.HostFacts{Links: []heddle.LinkFact{
		{Name: "eth0", MTU: 1500, Addrs: prefixes("fe80::1/64", "192.0.2.1/24", "192.0.2.9/24", "2001:db8::1/64"), Gateways: []netip.Addr{netip.MustParseAddr("192.0.2.254")}},
		{Name: "eth1", MTU: 9000, Addrs: prefixes("198.51.100.1/24")},
		{Name: "eth2", MTU: 1500, Addrs: prefixes("fe80::2/64")},
	}}
	for text, want := range map[string]struct {
		addrs string
		mtu   int
	}{
		"": {"192.0.2.1 2001:db8::1", 1500}, "eth0": {"192.0.2.1 2001:db8::1", 1500}, "eth1": {"198.51.100.1", 9000},
		"2001:db8::1,198.51.100.1": {"198.51.100.1 2001:db8::1", 1500}, "192.0.2.9": {"192.0.2.9", 1500},
	} {
		got, mtu, err := underlay(text, host)
		var words []string
		for _, a := range got {
			words = append(words, a.String())
		}
		if err != nil || !slices.Equal(words, strings.Fields(want.addrs)) || mtu != want.mtu {
			t.Errorf("%q: %v, MTU %d, %v", text, got, mtu, err)
		}
	}
	for text, code := range map[string]heddle.Code{"eth9": heddle.NoParent, "eth2": heddle.NoParent, "203.0.113.1": heddle.NoParent, "eth0,eth1": heddle.BadArgument} {
		if got, _, err := underlay(text, host); !errors.Is(err, code.Sentinel()) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	host.Links[0].Gateways = nil
	if _, _, err := underlay("", host); !errors.Is(err, heddle.NoParent.Sentinel()) || !strings.Contains(err.Error(), "--underlay") {
		t.Errorf("no default route: %v", err)
	}
}
