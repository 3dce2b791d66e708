package docker

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

func decode(t *testing.T, text string) (q createNetwork) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &q); err != nil {
		t.Fatal(err)
	}
	return q
}

// TestUnusableByDHCP: what no container could be started on is refused when the network is made.
func TestUnusableByDHCP(t *testing.T) {
	for _, c := range []struct{ mode, options, remedy string }{
		{"macvlan", `{"addresses":"dhcp"}`, ""},
		{"macvlan", `{"addresses":"dhcp","ipv6":"auto"}`, "leave option ipv6 out"},
		{"direct", `{"addresses":"dhcp"}`, "use mode macvlan or ipvlan"},
		{"direct", `{}`, ""},
	} {
		n := heddle.Network{Mode: c.mode}
		if err := json.Unmarshal([]byte(c.options), &n.Options); err != nil {
			t.Fatal(err)
		}
		switch err := (&Server{}).checkUsable(networkRequest{network: n}); {
		case c.remedy == "" && err == nil:
		case c.remedy == "" || !errors.Is(err, heddle.BadOption.Sentinel()) || !strings.Contains(heddle.FirstRemedy(err, ""), c.remedy):
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// A user of the built-in drivers changes the driver's name: their options mean
// what they meant.
func TestWishes(t *testing.T) {
	const pool = `"IPv4Data":[{"AddressSpace":"LocalDefault","Pool":"192.168.7.0/24","Gateway":"192.168.7.1/24","AuxAddresses":{"router":"192.168.7.9/24"}}],"IPv6Data":[]`
	subnets, gateways, reserved := []netip.Prefix{netip.MustParsePrefix("192.168.7.0/24")}, []netip.Addr{netip.MustParseAddr("192.168.7.1")}, []netip.Addr{netip.MustParseAddr("192.168.7.9")}
	for name, c := range map[string]struct {
		options string
		multi   bool
		want    heddle.Network
	}{
		"nothing":              {`{}`, false, heddle.Network{Mode: "bridge"}},
		"nothing in a cluster": {`{}`, true, heddle.Network{Mode: "overlay"}},
		"macvlan":              {`{"com.docker.network.generic":{"parent":"eth0","macvlan_mode":"private"}}`, true, heddle.Network{Mode: "macvlan", Parent: "eth0", Options: map[string]string{"macvlan_mode": "private"}}},
		"a parent":             {`{"com.docker.network.generic":{"parent":"eth0"}}`, false, heddle.Network{Mode: "macvlan", Parent: "eth0"}},
		"ipvlan":               {`{"com.docker.network.generic":{"parent":"eth1","ipvlan_mode":"l3s"}}`, true, heddle.Network{Mode: "ipvlan", Parent: "eth1", Options: map[string]string{"ipvlan_mode": "l3s"}}},
		"ipvlan by its flag":   {`{"com.docker.network.generic":{"parent":"eth1","ipvlan_flag":"bridge"}}`, false, heddle.Network{Mode: "ipvlan", Parent: "eth1", Options: map[string]string{"ipvlan_flag": "bridge"}}},
		"routed":               {`{"com.docker.network.generic":{"mode":"routed","parent":"eth0","table":"107"}}`, true, heddle.Network{Mode: "routed", Parent: "eth0", Options: map[string]string{"table": "107"}}},
		"MTU":                  {`{"com.docker.network.generic":{"mode":"bridge","com.docker.network.driver.mtu":"1400"}}`, true, heddle.Network{Mode: "bridge", MTU: 1400}},
		"a number":             {`{"com.docker.network.generic":{"com.docker.network.driver.mtu":1400}}`, false, heddle.Network{Mode: "bridge", MTU: 1400}},
		"labels":               {`{"com.docker.network.generic":{"heddle.label.tier":"web","heddle.label.a.b":""}}`, false, heddle.Network{Mode: "bridge", Labels: map[string]string{"tier": "web", "a.b": ""}}},
		"masquerade":           {`{"com.docker.network.generic":{"com.docker.network.bridge.enable_ip_masquerade":"false"}}`, false, heddle.Network{Mode: "bridge", Options: map[string]string{"masquerade": "false"}}},
		"internal":             {`{"com.docker.network.internal":true,"com.docker.network.enable_ipv6":false,"com.docker.network.generic":null}`, false, heddle.Network{Mode: "bridge", Internal: true}},
		"a newer engine's":     {`{"com.docker.network.enable_ipv4":true,"com.docker.network.something_new":{"a":[1]}}`, false, heddle.Network{Mode: "bridge"}},
		"the prefix it has":    {`{"com.docker.network.generic":{"com.docker.network.container_iface_prefix":"eth"}}`, false, heddle.Network{Mode: "bridge"}},
		"Docker's defaults":    {`{"com.docker.network.generic":{"com.docker.network.bridge.enable_icc":"true","com.docker.network.bridge.host_binding_ipv4":"0.0.0.0","com.docker.network.bridge.inhibit_ipv4":false,"com.docker.network.bridge.gateway_mode_ipv4":"nat","com.docker.network.bridge.gateway_mode_ipv6":"nat"}}`, false, heddle.Network{Mode: "bridge"}},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := parseNetworkRequest(decode(t, `{"NetworkID":"0123456789abcdef","Options":`+c.options+`,`+pool+`}`), c.multi)
			if err != nil {
				t.Fatal(err)
			}
			c.want.Name, c.want.Subnets, c.want.Gateways, c.want.Reserved = "docker-0123456789ab", subnets, gateways, reserved
			if !reflect.DeepEqual(w.network, c.want) {
				t.Errorf("%+v\nwant %+v", w.network, c.want)
			}
		})
	}
}

// What no mode does is refused by the option's name.
func TestRefusedOptions(t *testing.T) {
	for options, code := range map[string]heddle.Code{
		`{"com.docker.network.generic":{"encrypted":""}}`:                                         heddle.BadOption,
		`{"com.docker.network.generic":{"com.docker.network.bridge.name":"br0"}}`:                 heddle.BadOption,
		`{"com.docker.network.generic":{"com.docker.network.container_iface_prefix":"x"}}`:        heddle.BadOption,
		`{"com.docker.network.generic":{"com.docker.network.bridge.enable_icc":"false"}}`:         heddle.BadOption,
		`{"com.docker.network.generic":{"com.docker.network.bridge.enable_icc":""}}`:              heddle.BadOption,
		`{"com.docker.network.generic":{"com.docker.network.bridge.gateway_mode_ipv4":"routed"}}`: heddle.BadOption,
		`{"com.docker.network.generic":{"com.docker.network.driver.mtu":"much"}}`:                 heddle.BadMTU,
		`{"com.docker.network.generic":{"com.docker.network.driver.mtu":"-1"}}`:                   heddle.BadMTU,
		`{"com.docker.network.generic":["mode"]}`:                                                 heddle.BadOption,
		`{"com.docker.network.generic":{"mode":{}}}`:                                              heddle.BadOption,
		`{"com.docker.network.internal":"perhaps"}`:                                               heddle.BadOption,
	} {
		_, err := parseNetworkRequest(decode(t, `{"NetworkID":"0123456789abcdef","Options":`+options+`}`), false)
		if !errors.Is(err, code.Sentinel()) {
			t.Errorf("%s: %v", options, err)
		}
	}
	for _, pool := range []string{`{"Pool":"10.0.0.0"}`, `{"Pool":"10.0.0.0/24","Gateway":"x"}`, `{"Pool":"10.0.0.0/24","AuxAddresses":{"a":"b"}}`,
		`{"Pool":"10.0.0.0/24","AuxAddresses":{"DefaultGatewayIPv4":"10.0.0.9/24"}}`, `{"Pool":"fd00::/64","AuxAddresses":{"DefaultGatewayIPv6":"fd00::9/64"}}`} {
		if _, err := parseNetworkRequest(decode(t, `{"IPv4Data":[`+pool+`]}`), false); err == nil {
			t.Errorf("%s: no error", pool)
		}
	}
}

// Docker's null IPAM driver gives a pool that is none.
func TestNullPool(t *testing.T) {
	w, err := parseNetworkRequest(decode(t, `{"IPv4Data":[{"AddressSpace":"null","Pool":"0.0.0.0/0"}],"Options":{"com.docker.network.generic":{"mode":"direct"}}}`), false)
	if err != nil || len(w.network.Subnets) != 0 || len(w.spaces) != 0 {
		t.Errorf("%+v %v", w, err)
	}
}

// The engine names a port once for each family; ranges and open ports are chosen.
func TestPorts(t *testing.T) {
	parse := func(text string) ([]portBinding, error) {
		var raw any
		if err := json.Unmarshal([]byte(text), &raw); err != nil {
			t.Fatal(err)
		}
		return parsePorts(raw)
	}
	all, err := parse(`[{"Proto":6,"IP":"","Port":80,"HostIP":"","HostPort":8080,"HostPortEnd":8080},
		{"Proto":6,"IP":null,"Port":80,"HostIP":"::","HostPort":8080,"HostPortEnd":8080},
		{"Proto":17,"IP":"","Port":53,"HostIP":"127.0.0.1","HostPort":5000,"HostPortEnd":5002,"NewField":true},
		{"Proto":6,"IP":"","Port":81,"HostIP":"","HostPort":0,"HostPortEnd":0},
		{"Proto":132,"IP":"","Port":9000,"HostIP":"","HostPort":9000,"HostPortEnd":9000}]`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := mappings(all)
	want := []heddle.PortMapping{{HostPort: 8080, ContainerPort: 80, Protocol: "tcp"},
		{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: 5000, HostPortEnd: 5002, ContainerPort: 53, Protocol: "udp"},
		{ContainerPort: 81, Protocol: "tcp"}, {HostPort: 9000, ContainerPort: 9000, Protocol: "sctp"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	for _, bad := range []string{`[{"Proto":1,"Port":80}]`, `[{"Proto":6,"Port":0}]`, `[{"Proto":6,"Port":70000}]`, `{"Proto":6}`} {
		if _, err := parse(bad); !errors.Is(err, heddle.BadPort.Sentinel()) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// A port at all addresses of one family is not open in the other one, unless the
// engine names both.
func TestPortFamilies(t *testing.T) {
	v4, v6, both := netip.IPv4Unspecified(), netip.IPv6Unspecified(), netip.Addr{}
	for hosts, want := range map[string][]netip.Addr{
		"":             {both},
		"0.0.0.0":      {v4},
		"::":           {v6},
		"0.0.0.0 ::":   {both},
		":: 0.0.0.0":   {both},
		"0.0.0.0 =::":  {v4, v6}, // another port of the container's
		"127.0.0.1 ::": {netip.MustParseAddr("127.0.0.1"), v6},
	} {
		var list []map[string]any
		for i, host := range strings.Split(hosts, " ") {
			port := 80
			if strings.HasPrefix(host, "=") {
				port += i
			}
			list = append(list, map[string]any{"Proto": 6, "Port": port, "HostIP": strings.TrimPrefix(host, "="), "HostPort": 8080, "HostPortEnd": 8080})
		}
		all, err := parsePorts(list)
		if err != nil {
			t.Fatal(err)
		}
		ports, err := mappings(all)
		var got []netip.Addr
		for _, p := range ports {
			got = append(got, p.HostIP)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v (%v)", hosts, got, want, err)
		}
	}
}

// FuzzWishes feeds the reader of networks and ports: whatever it accepts has a
// name, a mode, and addresses that are whole.
func FuzzWishes(f *testing.F) {
	for _, name := range []string{"testdata/engine-20.10.jsonl", "testdata/engine-28.5.jsonl", "testdata/engine-29.8.jsonl"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, line := range strings.Split(string(text), "\n") {
			f.Add([]byte(line))
		}
	}
	f.Add([]byte(`{"NetworkID":"x","Options":{"com.docker.network.generic":{"mode":"a","parent":"b","heddle.id":"c","":""}},"IPv6Data":[{"Pool":"fe80::%1/64","Gateway":"::ffff:1.2.3.4"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var q createNetwork
		if json.Unmarshal(text, &q) != nil {
			return
		}
		for _, multi := range []bool{true, false} {
			w, err := parseNetworkRequest(q, multi)
			if err != nil {
				continue
			}
			if w.network.Mode == "" && !w.modeGiven || !strings.HasPrefix(w.network.Name, "docker-") || len(w.spaces) != len(w.network.Subnets) {
				t.Errorf("%+v", w)
			}
			for _, p := range w.network.Subnets {
				if !p.IsValid() || p != p.Masked() {
					t.Errorf("subnet %v", p)
				}
			}
		}
		if all, err := parsePorts(q.Options[keyPorts]); err == nil {
			if ports, err := mappings(all); err == nil && len(ports) != len(all) {
				t.Errorf("%v of %v", ports, all)
			}
		}
	})
}
