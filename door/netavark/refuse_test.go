package netavark

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

// changed is a real document with one text replaced, which must be there.
func changed(t testing.TB, name, from, to string) string {
	t.Helper()
	text := document(t, name)
	if !strings.Contains(text, from) {
		t.Fatalf("%s has no %s", name, from)
	}
	return strings.Replace(text, from, to, 1)
}

// TestRefusals: what cannot be had is refused in words that say what to do, and leaves nothing.
func TestRefusals(t *testing.T) {
	create := func(from, to string) string { return changed(t, "create-front", from, to) }
	setup := func(from, to string) string { return changed(t, "setup-front", from, to) }
	for name, c := range map[string]struct{ command, document, words string }{
		"not JSON":              {"create", `{"name"`, "decode document"},
		"null":                  {"create", `null`, "network name"},
		"an unknown subcommand": {"delete", `{}`, "create, setup, teardown or info"},
		"too large":             {"create", strings.Repeat(" ", maxDocument+1), "1 MiB"},
		"a name that is a path": {"create", create(`"front"`, `"../../front"`), "network name"},
		"Podman's IPAM":         {"create", create(`"internal": false`, `"internal": false, "ipam_options": {"driver": "dhcp"}`), "leave --ipam-driver out"},
		"a route":               {"create", create(`"internal": false`, `"internal": false, "routes": [{}]`), "leave --route out"},
		"a name server":         {"create", create(`"internal": false`, `"internal": false, "network_dns_servers": ["10.0.0.1"]`), "leave --dns out"},
		"mode host":             {"create", create(`"routed"`, `"host"`), "--network host"},
		"no MTU":                {"create", create(`"1400"`, `"much"`), "is not a number"},
		"an option of Docker's": {"create", create(`"mtu"`, `"encrypted"`), "leave the option out"},
		"no subnet":             {"create", create(`"10.20.0.0/24"`, `null`), "has no prefix"},
		"a range elsewhere":     {"create", create(`"10.20.0.129"`, `"10.21.0.129"`), "--ip-range inside --subnet"},
		"an ID of nothing":      {"create", create(`"mtu": "1400"`, `"heddle.id": "x"`), "HDL-2002"},
		"a doubtful truth":      {"create", create(`"mtu": "1400"`, `"no_default_route": "perhaps"`), "give true or false"},
		"a container ID":        {"setup", setup(`"container_id": "`, `"container_id": "../`), "container ID"},
		"an interface name":     {"setup", setup(`"eth0"`, `"a/b"`), "interface name"},
		"a network that is gone": {"setup", strings.Replace(setup(`"0123456789abcdef"`, `"fedcba9876543210"`), `"name": "front"`, `"name": "gone"`, 1),
			"create it again: 'heddle network create gone --mode routed --subnet 10.20.0.0/24 --subnet fd20::/64 --gateway 10.20.0.1 --gateway fd20::1 --ip-range 10.20.0.128/25 --reserve 10.20.0.128 --mtu 1400 --label tier=front'"},
		"other subnets":      {"setup", setup(`"subnet": "10.20.0.0/24"`, `"subnet": "10.21.0.0/24"`), "heddle network delete front"},
		"another mode":       {"setup", setup(`"mode": "routed"`, `"mode": "bridge"`), "heddle network delete front"},
		"an internal one":    {"setup", setup(`"internal": false`, `"internal": true`), "mode routed, internal true"},
		"--ipv6 without one": {"create", changed(t, "create-bare", `"ipv6_enabled": false`, `"ipv6_enabled": true`), "give an IPv6 subnet as well"},
		"no MAC address":     {"setup", setup(`"0a:00:00:00:00:07"`, `"x"`), "HDL-"},
		"an unknown option":  {"setup", setup(`"options": null`, `"options": {"foo": "bar"}`), "no_default_route or nic"},
		"a protocol":         {"setup", setup(`"udp"`, `"icmp"`), "tcp, udp or sctp"},
		"a range of ports":   {"setup", setup(`"range": 3`, `"range": 65535`), "out of range"},
		"too many ports":     {"setup", setup(`"range": 3`, `"range": 5000`), "at most 4096"},
		"no host port":       {"setup", setup(`"host_port": 8080`, `"host_port": 0`), "from 1 to 65535"},
		"a host address":     {"setup", setup(`"127.0.0.1"`, `"localhost"`), "-p IP:HOST:CONTAINER"},
		"teardown of nobody": {"teardown", `{}`, "container ID"},
	} {
		d := newDoor(t)
		if c.command == "setup" {
			d.ask(t, "create", document(t, "create-front"))
		}
		before := len(d.agent.networks)
		exit, body := d.ask(t, c.command, c.document)
		if exit != "1" || !strings.Contains(body, c.words) {
			t.Errorf("%s: exit %s, %s want %s", name, exit, body, c.words)
		}
		if len(d.agent.made) != 0 || len(d.agent.networks) != before {
			t.Errorf("%s: left %v %v", name, d.agent.made, d.agent.networks)
		}
	}
}

// TestPodmanWords: a remedy names Podman's flags.
func TestPodmanWords(t *testing.T) {
	d := newDoor(t)
	d.agent.networks["front"] = heddle.Network{ID: "1", Name: "front", Mode: "bridge"}
	if _, body := d.ask(t, "create", document(t, "create-front")); !strings.Contains(body, "--mode (podman: --opt mode=MODE)") {
		t.Error(body)
	}
}

// TestOtherID: a network named by its ID has what is asked for besides, and is not of mode host.
func TestOtherID(t *testing.T) {
	d := newDoor(t)
	d.agent.networks["old"] = heddle.Network{ID: "1", Name: "old", Mode: "bridge", Subnets: []netip.Prefix{netip.MustParsePrefix("10.20.0.0/24")}}
	d.agent.networks["plain"] = heddle.Network{ID: "2", Name: "plain", Mode: "host"}
	named := func(more string) string {
		return changed(t, "create-bare", `"dns_enabled": true`, `"dns_enabled": true, "options": {"heddle.id": `+more+`}`)
	}
	for text, words := range map[string]string{
		named(`"1"`): "", named(`"1", "mode": "bridge"`): "", named(`"1", "mode": "routed"`): "HDL-2003", named(`"2"`): "--network host",
	} {
		exit, body := d.ask(t, "create", text)
		if exit == "0" != (words == "") || !strings.Contains(body, words) {
			t.Errorf("exit %s %s, want %s", exit, body, words)
		}
	}
	if len(d.agent.networks) != 2 {
		t.Errorf("made: %v", d.agent.networks)
	}
	if exit, body := d.ask(t, "setup", changed(t, "setup-bare", `"options": null`, `"options": {"heddle.id": "2"}`)); exit != "1" || !strings.Contains(body, "--network host") {
		t.Errorf("setup on mode host: exit %s %s", exit, body)
	}
}

// TestMadeAgain: a network that was deleted and made again is found by its name.
func TestMadeAgain(t *testing.T) {
	d := newDoor(t)
	d.ask(t, "create", document(t, "create-front"))
	if exit, body := d.ask(t, "setup", changed(t, "setup-front", `"0123456789abcdef"`, `"fedcba9876543210"`)); exit != "0" {
		t.Error(body)
	}
}

// TestTeardown: it needs nothing but the endpoint's ID, and a queue that the plugin left comes first.
func TestTeardown(t *testing.T) {
	d := newDoor(t)
	d.ask(t, "create", document(t, "create-front"))
	d.ask(t, "setup", document(t, "setup-front"))
	for _, text := range []string{changed(t, "teardown-front", `"0123456789abcdef"`, `"gone"`), document(t, "teardown-front")} {
		if exit, body := d.ask(t, "teardown", text); exit != "0" || body != "" || len(d.agent.made) != 0 {
			t.Errorf("exit %s %s, left %v", exit, body, d.agent.made)
		}
	}
	id := heddle.EndpointID{Container: "c9", IfName: "eth0"}
	other := strings.Replace(document(t, "setup-front"), `"container_id": "`, `"container_id": "c9", "was": "`, 1)
	if err := os.WriteFile(filepath.Join(d.dir, "c9@eth0"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d.agent.detachErr = errors.New("no")
	if exit, body := d.ask(t, "setup", other); exit != "1" || !strings.Contains(body, "queued before failed") || len(d.agent.made) != 0 {
		t.Errorf("setup before a queued teardown: exit %s %s", exit, body)
	}
	d.agent.detachErr = nil
	if exit, body := d.ask(t, "setup", other); exit != "0" || d.agent.made[id].Name != "c1" {
		t.Errorf("exit %s %s", exit, body)
	}
	if left, _ := os.ReadDir(d.dir); len(left) != 0 {
		t.Error(left)
	}
}

// TestPrefixes: a range becomes the fewest prefixes with its addresses.
func TestPrefixes(t *testing.T) {
	for _, c := range [][3]string{
		{"10.0.0.0", "10.0.0.255", "10.0.0.0/24"}, {"10.0.0.7", "10.0.0.7", "10.0.0.7/32"},
		{"10.0.0.5", "10.0.0.10", "10.0.0.5/32 10.0.0.6/31 10.0.0.8/31 10.0.0.10/32"}, {"0.0.0.0", "255.255.255.255", "0.0.0.0/0"},
		{"255.255.255.254", "255.255.255.255", "255.255.255.254/31"}, {"fd00::", "fd00::ffff:ffff:ffff:ffff", "fd00::/64"}, {"10.0.0.9", "10.0.0.8", ""},
	} {
		var got []string
		for _, p := range prefixes(netip.MustParseAddr(c[0]), netip.MustParseAddr(c[1])) {
			got = append(got, p.String())
		}
		if strings.Join(got, " ") != c[2] {
			t.Errorf("%s to %s: %v, want %s", c[0], c[1], got, c[2])
		}
	}
}

// FuzzDocument feeds all subcommands. What is accepted is something that the agent would be asked for,
// and every other answer is an error of netavark's with a code.
func FuzzDocument(f *testing.F) {
	for _, name := range []string{"create-front", "create-bare", "create-inner", "setup-front", "setup-bare", "teardown-front"} {
		f.Add(document(f, name))
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := newDoor(t)
		d.agent.networks["bare"] = heddle.Network{ID: "1", Name: "bare", Mode: "bridge"}
		if exit, body := d.ask(t, "create", text); exit == "0" {
			var n network
			if err := json.Unmarshal([]byte(body), &n); err != nil || heddle.CheckNetworkName(n.Name) != nil || n.IPAM["driver"] != ipamDriver {
				t.Errorf("%v %s", err, body)
			}
		}
		for _, command := range []string{"setup", "setup", "teardown"} {
			d.ask(t, command, text)
			for id, q := range d.agent.made {
				if id.Check() != nil || len(q.Ports) > heddle.MaxPorts {
					t.Errorf("%s %d ports", id, len(q.Ports))
				}
			}
		}
	})
}
