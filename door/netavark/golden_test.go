package netavark

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/heddle-network/heddle"
)

var update = flag.Bool("update", false, "write the golden answers")

// document is one that Podman 5.4.2 and netavark 1.14.0 sent.
func document(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestGolden compares the answers to real documents with the golden ones.
func TestGolden(t *testing.T) {
	d := newDoor(t)
	d.agent.resolvers = []netip.Addr{netip.MustParseAddr("10.20.0.1"), netip.MustParseAddr("fd20::1")}
	for _, c := range []struct{ command, network string }{
		{"create", "front"}, {"setup", "front"}, {"teardown", "front"}, {"create", "inner"}, {"create", "bare"}, {"setup", "bare"},
	} {
		name := c.command + "-" + c.network
		exit, body := d.ask(t, c.command, document(t, name))
		var got bytes.Buffer
		if body != "" {
			if err := json.Indent(&got, []byte(body), "", "\t"); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join("testdata", name+".answer.json")
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if exit != "0" || got.String() != string(want) {
			t.Errorf("%s: exit %s\n%s\nwant\n%s", name, exit, got.String(), want)
		}
	}
	if len(d.agent.made) != 1 { // bare's
		t.Errorf("attached: %v", d.agent.made)
	}
}

// TestRequest: what the agent is asked for a real container.
func TestRequest(t *testing.T) {
	d := newDoor(t)
	d.ask(t, "create", document(t, "create-front"))
	d.ask(t, "setup", document(t, "setup-front"))
	want := heddle.Network{ID: "0123456789abcdef", Name: "front", Mode: "routed", MTU: 1400, Labels: map[string]string{"tier": "front"},
		Subnets:  []netip.Prefix{netip.MustParsePrefix("10.20.0.0/24"), netip.MustParsePrefix("fd20::/64")},
		Gateways: []netip.Addr{netip.MustParseAddr("10.20.0.1"), netip.MustParseAddr("fd20::1")},
		Ranges:   []netip.Prefix{netip.MustParsePrefix("10.20.0.128/25")}, Reserved: []netip.Addr{netip.MustParseAddr("10.20.0.128")}}
	if got := d.agent.networks["front"]; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	for id, q := range d.agent.made {
		local, six := netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()
		ports := []heddle.PortMapping{
			{HostPort: 8080, ContainerPort: 80, Protocol: "tcp"}, {HostIP: local, HostPort: 81, ContainerPort: 81, Protocol: "udp"},
			{HostIP: six, HostPort: 82, ContainerPort: 82, Protocol: "tcp"}, {HostIP: six, HostPort: 83, ContainerPort: 83, Protocol: "tcp"},
			{HostIP: six, HostPort: 84, ContainerPort: 84, Protocol: "tcp"},
		}
		ask := heddle.AttachRequest{Network: want.ID, ID: id, Netns: "/run/netns/netns-1", IPs: []netip.Addr{netip.MustParseAddr("10.20.0.7")},
			MAC: "0a:00:00:00:00:07", Ports: ports, Name: "c1", Aliases: []string{"x", "y", id.Container[:heddle.ShortID]}, Owner: "netavark/front"}
		if !reflect.DeepEqual(q, ask) {
			t.Errorf("%+v\nwant %+v", q, ask)
		}
	}
	if len(d.agent.made) != 1 {
		t.Error(d.agent.made)
	}
}
