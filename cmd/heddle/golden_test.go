package main

import (
	"bytes"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
)

var update = flag.Bool("update", false, "write the golden files anew")

var born = time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC)

var front = heddle.Network{ID: "0123456789abcdef", Name: "front", Mode: "bridge", Parent: "eth0", MTU: 1500, Created: born,
	Subnets:  []netip.Prefix{netip.MustParsePrefix("10.20.0.0/24"), netip.MustParsePrefix("fd20::/64")},
	Gateways: []netip.Addr{netip.MustParseAddr("10.20.0.1"), netip.MustParseAddr("fd20::1")},
	Ranges:   []netip.Prefix{netip.MustParsePrefix("10.20.0.128/25")},
	Reserved: []netip.Addr{netip.MustParseAddr("10.20.0.200")},
	Options:  map[string]string{"masquerade": "false", "broadcast": "true"}, Allow: []string{"fedcba9876543210"}}

var back = heddle.Network{ID: "fedcba9876543210", Name: "back", Mode: "routed", Internal: true, Created: born,
	Subnets: []netip.Prefix{netip.MustParsePrefix("10.21.0.0/24")}, Gateways: []netip.Addr{netip.MustParseAddr("10.21.0.1")}}

var plain1 = heddle.Network{ID: "1111111111111111", Name: "plain", Mode: "host", Created: born}

var web = heddle.Endpoint{ID: heddle.EndpointID{Container: "web", IfName: "eth0"}, Network: front.ID, NetworkName: "front",
	Netns: "/run/netns/web", MAC: "0a:00:00:00:00:09", MTU: 1500, DefaultRoute: true, Port: "hd2905ce7a38", Created: born,
	Addrs: []netip.Prefix{netip.MustParsePrefix("10.20.0.130/24"), netip.MustParsePrefix("fd20::2/64")},
	Ports: []heddle.PortMapping{{HostPort: 8080, ContainerPort: 80, Protocol: "tcp"},
		{HostIP: netip.MustParseAddr("::1"), HostPort: 5353, ContainerPort: 53, Protocol: "udp"}}}

var bare = heddle.Endpoint{ID: heddle.EndpointID{Container: "4f5c1d6a9b0e", IfName: "eth0"}, Network: plain1.ID, NetworkName: "plain", Created: born}

// everywhere has an endpoint of this host and one of another, of which only names and addresses are known.
var everywhere = []heddle.Endpoint{
	{ID: web.ID, Host: "host1", NetworkName: "front", Addrs: web.Addrs, Ports: web.Ports},
	{ID: heddle.EndpointID{Container: strings.Repeat("4f5c1d6a9b0e", 5) + "0000", IfName: "eth0"}, Host: "host2", NetworkName: "front", Name: "shop", Addrs: web.Addrs[:1]}}

var hosts = []client.HostStatus{
	{Name: "host1", Self: true, Underlay: []netip.Addr{netip.MustParseAddr("192.0.2.1")}, Role: "leader", State: "alive", Blocks: 2, May: []string{"networks"}, Key: strings.Repeat("ab", 32), Version: "0.1.0"},
	{Name: "host2", Underlay: []netip.Addr{netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("2001:db8::2")}, Role: "client", State: "away", Admitted: born, Token: "t-12345678", Key: strings.Repeat("cd", 32)}}

var missing = heddle.Finding{Kind: "missing", Object: "address/eth0/10.20.0.130/24", Owner: "web/eth0", Detail: "the interface has no such address"}

var status = heddle.Status{Host: "host1", Version: "0.1.0", Kernel: "6.12.0", BootID: "b", UpSeconds: 11531, Ready: true, Endpoints: 2, Repairs: 3,
	Drops: map[string]uint64{"spoofed-ip": 12, "isolated": 3, "loopback": 0},
	Parts: []heddle.PartStatus{{Name: "agent", State: "ok", Detail: "ready"}, {Name: "ledger", State: "bad", Detail: "stat /run/heddle: no such file or directory"},
		{Name: "firewall", State: "warn", Detail: "15 packets dropped, 3 objects put back"}},
	Networks: []heddle.NetworkStatus{{Name: "back", Mode: "routed", Free: 1 << 53}, {Name: "front", Mode: "bridge", Endpoints: 1, Free: 125}, {Name: "plain", Mode: "host", Endpoints: 1, Free: -1}}}

var peers = []heddle.PeerStatus{
	{Name: "host2", ID: "2222222222222222", Underlay: netip.MustParseAddr("192.0.2.2"), Path: "vxlan", State: "up", Since: born, PathMTU: 1400,
		RTTSeconds: 0.000412, Checksums: "good", Blocks: 3, Store: "alive"},
	{Name: "host3", ID: "3333333333333333", Path: "none", State: "unknown", Checksums: "unproven", Store: "away"}}

var authority = client.Authority{Withdrawn: born, By: "host1", Keepers: []client.AuthorityKeeper{
	{Name: "host1", Lent: born.Add(time.Hour)}, {Name: "host2", Disk: true}, {Name: "host3"}, {Name: "host4", Problem: "it did not answer in time"}}}

var taken = &heddle.Error{Code: heddle.PortTaken, Kind: heddle.Conflict, Op: "publish port", Object: "8080:80/tcp",
	Cause: "listen tcp :8080: bind: address already in use", Remedy: "choose another host port, or stop the program that listens there"}

// TestGolden renders values as the commands do, for a terminal of 80 columns
// and as documents.
func TestGolden(t *testing.T) {
	for name, write := range map[string]func(*session) error{
		"peers":        func(s *session) error { return s.peerTable(s.stdout, peers) },
		"peer":         func(s *session) error { return s.peerFields(s.stdout, peers[0]) },
		"paths":        func(s *session) error { return s.pathTable(s.stdout, peers) },
		"networks":     func(s *session) error { return s.networkTable(s.stdout, []heddle.Network{back, front, plain1}) },
		"network":      func(s *session) error { return s.networkFields(s.stdout, front, []heddle.Network{back, front, plain1}) },
		"network.json": func(s *session) error { return writeDocument(s.stdout, formatJSON, "Network", front) },
		"networks.json": func(s *session) error {
			return writeDocument(s.stdout, formatJSON, "NetworkList", listOf([]heddle.Network{back}))
		},
		"none.json": func(s *session) error {
			return writeDocument(s.stdout, formatJSON, "NetworkList", listOf[heddle.Network](nil))
		},
		"networks.wide": func(s *session) error {
			s.format = formatWide
			return s.networkTable(s.stdout, []heddle.Network{back, front})
		},
		"endpoints.wide": func(s *session) error {
			s.format = formatWide
			return s.endpointTable(s.stdout, []heddle.Endpoint{web})
		},
		"endpoints.all": func(s *session) error { return s.endpointTable(s.stdout, everywhere) },
		"hosts":         func(s *session) error { return s.clusterTable(s.stdout, hosts) },
		"endpoints":     func(s *session) error { return s.endpointTable(s.stdout, []heddle.Endpoint{bare, web}) },
		"endpoint":      func(s *session) error { return s.endpointFields(s.stdout, web) },
		"endpoint.yaml": func(s *session) error { return writeDocument(s.stdout, formatYAML, "Endpoint", web) },
		"findings":      func(s *session) error { return s.findingTable(s.stdout, []heddle.Finding{missing}) },
		"authority":     func(s *session) error { return s.authorityScreen(s.stdout, authority) },
		"authority.json": func(s *session) error {
			return writeDocument(s.stdout, formatJSON, "Authority", authority)
		},
		"status":      func(s *session) error { return s.statusScreen(s.stdout, status) },
		"status.json": func(s *session) error { return writeDocument(s.stdout, formatJSON, "Status", status) },
		"explained": func(s *session) error {
			return s.explained(s.stdout, "# endpoint web/eth0 on network front", []string{"ip link add hd0 type veth", "ip link set hd0 up"}, []heddle.Finding{missing})
		},
		"commands.json": func(s *session) error {
			return writeDocument(s.stdout, formatJSON, "CommandList", listOf([]string{"nft -f - <<'EOF'\nadd table inet heddle\nEOF"}))
		},
		"error":      func(s *session) error { s.printError(taken); return nil },
		"error.json": func(s *session) error { s.format = formatJSON; s.printError(taken); return nil },
	} {
		s, out := screen(t)
		if err := write(s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		compare(t, name, out.String())
	}
}

// screen returns a session on a terminal of 80 columns.
func screen(t *testing.T) (*session, *bytes.Buffer) {
	t.Helper()
	out := &bytes.Buffer{}
	return newSession(processEnv{stdout: out, stderr: out, getenv: func(k string) string { return map[string]string{"COLUMNS": "80"}[k] }}), out
}

func compare(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}
