package ipvlan

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

var facts = heddle.HostFacts{Name: "h", Links: []heddle.LinkFact{
	{Name: "eth0", MTU: 1500, MAC: "02:00:00:00:00:01", Up: true, Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.5/16")},
		Gateways: []netip.Addr{netip.MustParseAddr("10.0.255.253")}},
	{Name: "eth1", MTU: 1500, MAC: "02:00:00:00:00:02", Up: true},
	{Name: "eth2", MTU: 1500, MAC: "02:00:00:00:00:03"},
	{Name: "tun0", MTU: 1500, Up: true},
	{Name: "kube-ipvs0", MTU: 1500, Addrs: []netip.Prefix{netip.MustParsePrefix("172.16.0.1/32")}},
}}

func network(change func(*heddle.Network)) heddle.Network {
	n := heddle.Network{ID: "00000000000000aa", Name: "n", Mode: "ipvlan", Parent: "eth1", Options: map[string]string{},
		Subnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")}, Gateways: []netip.Addr{netip.MustParseAddr("10.0.255.253")}}
	change(&n)
	return n
}

func plugged(n *heddle.Network) {
	n.Parent, n.Gateways, n.Options["plug"], n.Options["warm"] = "", nil, "lan", "2"
}

func option(key, value string) func(*heddle.Network) {
	return func(n *heddle.Network) { n.Options[key] = value }
}

// TestCheck: what parent, sub-mode or host cannot provide is refused, with the reason.
func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*heddle.Network)
		code   heddle.Code
		words  string
	}{
		"plain":            {func(*heddle.Network) {}, "", ""},
		"services":         {option("services", "172.16.0.0/12"), "", ""},
		"Docker's flag":    {option("ipvlan_flag", "bridge"), "", ""},
		"no parent":        {func(n *heddle.Network) { n.Parent = "nosuch0" }, heddle.NoParent, "nosuch0"},
		"down":             {func(n *heddle.Network) { n.Parent = "eth2" }, heddle.NoParent, "eth2 is down"},
		"no MAC":           {func(n *heddle.Network) { n.Parent = "tun0" }, heddle.NoParent, "no MAC address"},
		"no subnet":        {func(n *heddle.Network) { n.Subnets, n.Gateways = nil, nil }, heddle.BadSubnet, "--subnet"},
		"internal":         {func(n *heddle.Network) { n.Internal = true }, heddle.BadOption, "mode bridge"},
		"sub-mode":         {option("ipvlan_mode", "bridge"), heddle.BadOption, "l2, l3 or l3s"},
		"no way in l3":     {option("ipvlan_mode", "l3"), heddle.NoParent, "no default route through eth1"},
		"private":          {option("ipvlan_flag", "private"), heddle.BadOption, "keeps the containers"},
		"other option":     {option("colour", "red"), heddle.BadOption, "services"},
		"redirect":         {func(n *heddle.Network) { n.Options["services"], n.Options["redirect"] = "172.16.0.0/12", "magic" }, heddle.BadOption, "ebpf"},
		"redirect of none": {option("redirect", "u32"), heddle.BadOption, "services"},
		"no prefix":        {option("services", "172.16.0.0"), heddle.BadOption, "services="},
		"everything":       {option("services", "0.0.0.0/0"), heddle.BadOption, "all addresses"},
		"other family":     {option("services", "fd00:96::/112"), heddle.BadOption, "of that family"},
		"own subnet":       {option("services", "10.0.9.0/24"), heddle.BadOption, "overlaps"},
		"the host's LAN": {func(n *heddle.Network) {
			n.Subnets, n.Gateways = []netip.Prefix{netip.MustParsePrefix("172.31.0.0/16")}, nil
			n.Options["services"] = "10.0.0.0/8"
		}, heddle.BadOption, "cut off"},
		"twice": {option("services", "172.16.0.0/12,172.17.0.0/16"), heddle.BadOption, "overlaps"},
		"no reply": {func(n *heddle.Network) {
			n.Subnets = append(n.Subnets, netip.MustParsePrefix("fd00:a::/64"))
			n.Options["services"] = "fd00:96::/112"
		}, heddle.BadOption, "no address of that family"},
		"services in l3": {func(n *heddle.Network) {
			n.Parent, n.Options["services"], n.Options["ipvlan_mode"] = "eth0", "172.16.0.0/12", "l3"
		}, heddle.BadOption, "in sub-mode l3 replies"},
		"plugged":                  {plugged, "", ""},
		"plugged beside a parent":  {func(n *heddle.Network) { plugged(n); n.Parent = "eth1" }, heddle.BadOption, "leave --parent out"},
		"plugged without a subnet": {func(n *heddle.Network) { plugged(n); n.Subnets = nil }, heddle.BadSubnet, "--subnet"},
		"plugged with a gateway":   {func(n *heddle.Network) { plugged(n); n.Gateways = facts.Links[0].Gateways }, heddle.BadOption, "leave --gateway"},
		"plugged in l3":            {func(n *heddle.Network) { plugged(n); n.Options["ipvlan_mode"] = "l3" }, heddle.BadOption, "give l2"},
		"plugged and internal":     {func(n *heddle.Network) { plugged(n); n.Internal = true }, heddle.BadOption, "--internal"},
		"plugged with too many":    {func(n *heddle.Network) { plugged(n); n.Options["warm"] = "257" }, heddle.BadOption, "warm=257"},
		"warm without a plug":      {option("warm", "2"), heddle.BadOption, "plug=NETWORK"},
	} {
		err := Mode{}.Check(facts, network(c.change))
		switch {
		case c.code == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.code != "" && (!errors.Is(err, c.code.Sentinel()) || !strings.Contains(err.Error(), c.words)):
			t.Errorf("%s: got %v, want %s about %q", name, err, c.code, c.words)
		}
	}
}

// TestBeside: a parent has one kind of devices and one sub-mode.
func TestBeside(t *testing.T) {
	plain := network(func(*heddle.Network) {})
	for name, c := range map[string]struct {
		other heddle.Network
		words string
	}{
		"the same":       {plain, ""},
		"another mode":   {network(func(n *heddle.Network) { n.Mode = "routed" }), ""},
		"macvlan":        {network(func(n *heddle.Network) { n.Mode = "macvlan" }), "either macvlan or ipvlan"},
		"other sub-mode": {network(option("ipvlan_mode", "l3s")), "l3s and not l2"},
	} {
		err := Mode{}.Beside(plain, c.other)
		if c.words == "" && err != nil || c.words != "" && (err == nil || !strings.Contains(err.Error(), c.words)) {
			t.Errorf("%s: %v, want %q", name, err, c.words)
		}
	}
}

// TestServicesBeside: services of one network among another's containers on the same
// parent are refused, whichever of them was first.
func TestServicesBeside(t *testing.T) {
	serving := network(option("services", "172.16.0.0/16,fd00:96::/112"))
	for text, refused := range map[string]bool{"172.16.9.0/24": true, "172.0.0.0/8": true, "fd00:96::/64": true, "172.17.0.0/16": false, "fd00:97::/112": false} {
		other := network(func(n *heddle.Network) { n.Name, n.Subnets = "other", []netip.Prefix{netip.MustParsePrefix(text)} })
		for _, pair := range [][2]heddle.Network{{serving, other}, {other, serving}} {
			err := Mode{}.Beside(pair[0], pair[1])
			if refused != errors.Is(err, heddle.PlanConflict.Sentinel()) || refused && !strings.Contains(err.Error(), "containers of network other") {
				t.Errorf("%s beside %s on %s: %v", pair[0].Name, pair[1].Name, text, err)
			}
		}
	}
}

// TestPorts: there is nothing to publish.
func TestPorts(t *testing.T) {
	e := heddle.Endpoint{ID: heddle.EndpointID{Container: "c", IfName: "eth0"}, Ports: []heddle.PortMapping{{HostPort: 80, ContainerPort: 80, Protocol: "tcp"}}}
	if _, err := (Mode{}).Endpoint(facts, network(func(*heddle.Network) {}), e); !errors.Is(err, heddle.BadPort.Sentinel()) {
		t.Errorf("published port: %v", err)
	}
}
