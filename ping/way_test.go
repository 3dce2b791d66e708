package ping

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

func network(name string, i string, change ...func(*heddle.Network)) heddle.Network {
	n := heddle.Network{ID: "000000000000000" + i, Name: name, Mode: "bridge", MTU: 1500,
		Subnets:  []netip.Prefix{netip.MustParsePrefix("10." + i + ".0.0/16"), netip.MustParsePrefix("fd0" + i + "::/64")},
		Gateways: []netip.Addr{addr("10." + i + ".0.1"), addr("fd0" + i + "::1")}}
	for _, c := range change {
		c(&n)
	}
	return n
}

// end is an endpoint with what mode bridge plans for it, with the fast path.
func end(name string, n heddle.Network, four string) End {
	e := heddle.Endpoint{ID: heddle.EndpointID{Container: name, IfName: "eth0"}, Network: n.ID, MTU: n.MTU, DefaultRoute: true,
		Addrs: []netip.Prefix{netip.PrefixFrom(addr(four), 16), netip.PrefixFrom(addr("fd0"+n.ID[15:]+"::"+four[strings.LastIndex(four, ".")+1:]), 64)}}
	x := End{Endpoint: e, Network: n, Masqueraded: "yes"}
	x.Plan.Links = []heddle.Link{{Name: e.ID.PortName(), Master: n.BridgeName(0)}}
	x.Plan.Programs = []heddle.Program{{Link: e.ID.PortName()}}
	for _, a := range e.Addrs {
		x.Plan.Shortcuts = append(x.Plan.Shortcuts, heddle.Shortcut{Prefix: heddle.Single(a.Addr()), Group: n.Group(), Link: e.ID.PortName()})
	}
	return x
}

// scene is two endpoints of a network, one of another, and a cluster with two other hosts, of which one has no IPv4.
func scene() (f Facts, b, c End) {
	web, db := network("web", "1"), network("db", "2")
	span := network("span", "3", func(n *heddle.Network) { n.Mode, n.Shared, n.MTU = "overlay", true, 1450 })
	a, b, c := end("a", web, "10.1.0.2"), end("b", web, "10.1.0.3"), end("c", db, "10.2.0.2")
	f = Facts{Asked: a.Endpoint.ID, From: a, To: addr("10.1.0.3"), FastPath: true, Networks: []heddle.Network{web, db, span}}
	f.Host.Links = []heddle.LinkFact{{Name: "up", MTU: 1400, Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.2/24")}, Gateways: []netip.Addr{addr("192.0.2.1")}}}
	host := func(name string, underlay ...netip.Addr) heddle.Host {
		return heddle.Host{Name: name, ID: name, Underlay: underlay, MTU: 1500}
	}
	f.Host.Fabric = &heddle.Fabric{Cluster: "x", Self: host("one", addr("192.0.2.2")), Peers: []heddle.Host{host("two", addr("192.0.2.3")), host("six", addr("2001:db8::6"))},
		Blocks:  []heddle.Block{{Network: span.ID, Prefix: netip.MustParsePrefix("10.3.4.0/26"), Host: "two"}, {Network: span.ID, Prefix: netip.MustParsePrefix("10.3.5.0/26"), Host: "six"}},
		Pins:    []heddle.Pin{{Network: span.ID, Addr: addr("10.3.5.9"), Host: "two"}},
		PathMTU: map[string]int{"two": 1300}}
	f.Peers = []heddle.PeerStatus{{Name: "two", ID: "two", State: "silent"}}
	return f, b, c
}

// spanning changes the sender to one of the network that spans hosts; with fast, the fast path knows the other host's block.
func spanning(f *Facts, fast bool) {
	f.From = end("a", f.Networks[2], "10.3.0.2")
	if fast {
		f.From.Plan.Shortcuts = append(f.From.Plan.Shortcuts, heddle.Shortcut{Prefix: netip.MustParsePrefix("10.3.4.0/26"), Group: f.From.Network.Group(), Peer: addr("192.0.2.3")})
	}
}

// TestWay: the sentence says what the records say, and no more.
func TestWay(t *testing.T) {
	f, b, c := scene()
	device := "hv4"
	for name, row := range map[string]struct {
		change func(f *Facts)
		want   string
	}{
		"fast":           {func(f *Facts) { f.End = &b }, "same host, network web, by the fast path, MTU 1500"},
		"no programs":    {func(f *Facts) { f.End, f.FastPath = &b, false }, "same host, network web, by bridge " + b.Network.BridgeName(0) + ", without the fast path, MTU 1500"},
		"sender's stack": {func(f *Facts) { f.End, f.From.Plan.Programs = &b, nil }, "same host, network web, by bridge " + b.Network.BridgeName(0) + ", without the fast path, MTU 1500"},
		"receiver's stack": {func(f *Facts) {
			other := b
			other.Plan.Shortcuts = []heddle.Shortcut{{Prefix: heddle.Single(addr("10.1.0.3")), Group: b.Network.Group()}}
			f.End = &other
		}, "same host, network web, by bridge " + b.Network.BridgeName(0) + ", without the fast path, MTU 1500"},
		"fragments": {func(f *Facts) { f.End, f.Bytes = &b, 1501 }, "same host, network web, by bridge " + b.Network.BridgeName(0) + ", without the fast path, MTU 1500"},
		"full":      {func(f *Facts) { f.End, f.Bytes = &b, 1500 }, "same host, network web, by the fast path, MTU 1500"},
		"several bridges": {func(f *Facts) {
			other := b
			other.Plan.Links = []heddle.Link{{Name: b.Endpoint.ID.PortName(), Master: "another"}}
			f.End, f.FastPath = &other, false
		}, "same host, network web, by the network's bridges, without the fast path, MTU 1500"},
		"routed":          {func(f *Facts) { f.End, f.FastPath, f.From.Plan.Links = &b, false, nil }, "same host, network web, through the host's stack, MTU 1500"},
		"smaller at b":    {func(f *Facts) { other := b; other.Endpoint.MTU = 1280; f.End = &other }, "same host, network web, by the fast path, MTU 1280"},
		"not joined":      {func(f *Facts) { f.End, f.To = &c, addr("10.2.0.2") }, "same host, from network web to network db, which are not joined, through the host's stack, MTU 1500"},
		"joined":          {func(f *Facts) { f.End, f.To, f.From.Network.Allow = &c, addr("10.2.0.2"), []string{c.Network.ID} }, "same host, from network web to network db, through the host's stack, MTU 1500"},
		"itself":          {func(f *Facts) { f.To = addr("fd01::2") }, "the container itself"},
		"loopback":        {func(f *Facts) { f.To = addr("127.0.0.9") }, "the container itself"},
		"gateway":         {func(f *Facts) { f.To = addr("10.1.0.1") }, "the gateway of network web, which this host is, MTU 1500"},
		"host":            {func(f *Facts) { f.To = addr("192.0.2.2") }, "the host itself, MTU 1500"},
		"nobody":          {func(f *Facts) { f.To = addr("10.1.9.9") }, "by the records nobody has this address of network web, MTU 1500"},
		"nobody there":    {func(f *Facts) { f.To = addr("10.2.9.9") }, "by the records nobody has this address of network db, MTU 1500"},
		"somebody's":      {func(f *Facts) { f.To, f.From.CommonSubnet = addr("10.1.9.9"), true }, "by the host's routes; no endpoint of network web has the address, and others may have it, MTU 1500"},
		"outside":         {func(f *Facts) { f.To = addr("198.51.100.7") }, "to the outside through gateway 10.1.0.1, masqueraded, MTU 1400 on this host and unknown beyond"},
		"outside, open":   {func(f *Facts) { f.To, f.From.Masqueraded = addr("198.51.100.7"), "no" }, "to the outside through gateway 10.1.0.1, not masqueraded, MTU 1400 on this host and unknown beyond"},
		"two uplinks":     {func(f *Facts) { f.To = addr("198.51.100.7"); f.Host.Links = append(f.Host.Links, f.Host.Links[0]) }, "to the outside through gateway 10.1.0.1, masqueraded, MTU 1500 on this host and unknown beyond"},
		"outside by IPv6": {func(f *Facts) { f.To = addr("2001:db8::7") }, "to the outside through gateway fd01::1, masqueraded, MTU 1500 on this host and unknown beyond"},
		"no gateway":      {func(f *Facts) { f.To, f.From.Network.Gateways = addr("2001:db8::7"), nil }, "to the outside, by a gateway that the agent does not know, masqueraded, MTU 1500 on this host and unknown beyond"},
		"internal":        {func(f *Facts) { f.To, f.From.Network.Internal = addr("198.51.100.7"), true }, "network web is internal, and has no way out"},
		"own stack":       {func(f *Facts) { f.From.OwnStack = true }, "network web is the host's own stack, of whose ways the agent knows nothing"},
		"LAN":             {func(f *Facts) { f.From.OnLAN, f.From.Network.Parent = true, "eth1" }, "by NIC eth1 to its LAN; who has the address there is unknown, MTU 1500 on this host and unknown beyond"},
		"LAN's router":    {func(f *Facts) { f.From.OnLAN, f.To = true, addr("10.1.0.1") }, "by NIC of the host to its LAN; who has the address there is unknown, MTU 1500 on this host and unknown beyond"},
		"own NIC": {func(f *Facts) {
			f.From.OnLAN, f.From.Endpoint.NIC, f.To, f.From.Masqueraded = true, &heddle.NIC{}, addr("198.51.100.7"), Unknown
		}, "to the outside by the container's NIC to its LAN through gateway 10.1.0.1, whether masqueraded is unknown, MTU 1500 on this host and unknown beyond"},
		"neighbours on a LAN": {func(f *Facts) { f.End, f.From.OnLAN, f.From.Network.Parent = &b, true, "eth1" }, "same host, network web, within NIC eth1, past the host's stack, MTU 1500"},
		"to a peer":           {func(f *Facts) { spanning(f, false); f.To = addr("10.3.4.5") }, "to two by VXLAN over IPv4 (the kernel's device " + device + ", the path is silent, MTU 1250"},
		"fast to a peer":      {func(f *Facts) { spanning(f, true); f.To = addr("10.3.4.5") }, "to two by VXLAN over IPv4 (the fast path), the path is silent, MTU 1250"},
		"fragments to a peer": {func(f *Facts) { spanning(f, true); f.To, f.Bytes = addr("10.3.4.5"), 1251 }, "to two by VXLAN over IPv4 (the kernel's device " + device + ", the path is silent, MTU 1250"},
		"pinned elsewhere":    {func(f *Facts) { spanning(f, true); f.To, f.Peers = addr("10.3.5.9"), nil }, "to two by VXLAN over IPv4 (the kernel's device " + device + ", the path is unknown, MTU 1250"},
		"pinned, not fast": {func(f *Facts) {
			spanning(f, true)
			f.From.Plan.Shortcuts = append(f.From.Plan.Shortcuts, heddle.Shortcut{Prefix: heddle.Single(addr("10.3.4.5")), Group: f.From.Network.Group()})
			f.To = addr("10.3.4.5")
		}, "to two by VXLAN over IPv4 (the kernel's device " + device + ", the path is silent, MTU 1250"},
		"no version":                 {func(f *Facts) { spanning(f, true); f.To = addr("10.3.5.8") }, "to six, with which this host has no IP version in common"},
		"free block":                 {func(f *Facts) { spanning(f, true); f.To = addr("10.3.9.9") }, "by the records nobody has this address of network span, MTU 1450"},
		"peer's network, not joined": {func(f *Facts) { f.To = addr("10.3.4.5") }, "by the records nobody has this address of network span, MTU 1500"},
		"peering": {func(f *Facts) {
			p := network("blue", "9", func(n *heddle.Network) { n.Mode, n.Allow = heddle.ModePeering, []string{f.From.Network.ID} })
			f.Networks, f.To, f.VPC = append(f.Networks, p), addr("10.9.0.7"), true
		}, "to another VPC by peering blue, MTU 1500 on this host and unknown beyond"},
		"VPC without a way": {func(f *Facts) { f.VPC, f.To = true, addr("198.51.100.7") }, "the VPC has no route there"},
		"VPC's way out": {func(f *Facts) {
			f.VPC, f.To = true, addr("198.51.100.7")
			f.Routes = map[netip.Prefix]string{netip.MustParsePrefix("0.0.0.0/0"): "host, and is active", netip.MustParsePrefix("198.51.100.0/24"): "10.1.0.3, and is active", netip.MustParsePrefix("::/0"): "wrong"}
		}, "to the outside through gateway 10.1.0.1, by the VPC's route to 198.51.100.0/24, which leads to 10.1.0.3, and is active, MTU 1500 on this host and unknown beyond"},
		"another endpoint": {func(f *Facts) { f.From.Endpoint.ID.IfName, f.To = "eth1", addr("10.1.9.9") }, "by endpoint a/eth1 of its container, by the records nobody has this address of network web, MTU 1500"},
	} {
		f, _, _ = scene()
		row.change(&f)
		got := Way(f)
		text := got.Text
		if i := strings.Index(text, device); i >= 0 { // the rest of the device's name is a hash
			text = text[:i+len(device)] + text[i+strings.Index(text[i:], ","):]
		}
		if text != row.want {
			t.Errorf("%s:\n got %s\nwant %s", name, text, row.want)
		}
		if got.From != f.Asked || got.To != f.To || got.Where == "" || got.By == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestCarrier: the endpoint on the address's network sends, or else that with the default route.
func TestCarrier(t *testing.T) {
	f, _, c := scene()
	if got := Carrier(f.From, []End{c}, addr("10.2.0.9")); got.Endpoint.ID != c.Endpoint.ID {
		t.Errorf("to the other network: %v", got.Endpoint.ID)
	}
	if got := Carrier(f.From, []End{c}, addr("198.51.100.7")); got.Endpoint.ID != f.From.Endpoint.ID {
		t.Errorf("to the outside: %v", got.Endpoint.ID)
	}
	f.From.Endpoint.DefaultRoute = false
	if got := Carrier(f.From, []End{c}, addr("198.51.100.7")); got.Endpoint.ID != c.Endpoint.ID {
		t.Errorf("to the outside by the other: %v", got.Endpoint.ID)
	}
	if got := Carrier(f.From, nil, addr("198.51.100.7")); got.Endpoint.ID != f.From.Endpoint.ID {
		t.Errorf("without a default route: %v", got.Endpoint.ID)
	}
}

// TestAdvise: who gets no answer is told what to look at, what is known first.
func TestAdvise(t *testing.T) {
	_, _, c := scene()
	for name, row := range map[string]struct {
		change func(f *Facts)
		denied string
		want   []string
	}{
		"policy":     {func(*Facts) {}, "egress of a/eth0: rule 1 of policy shut", []string{"rule 1 of policy shut", "heddle check a/eth0"}},
		"silent":     {func(f *Facts) { spanning(f, true); f.To = addr("10.3.4.5") }, "", []string{"heddle peer show two", "heddle check a/eth0"}},
		"not joined": {func(f *Facts) { f.End, f.To = &c, addr("10.2.0.2") }, "", []string{"heddle network allow web db", "heddle check a/eth0"}},
		"nobody":     {func(f *Facts) { f.To = addr("10.1.9.9") }, "", []string{"nobody has this address", "heddle check a/eth0"}},
		"outside":    {func(f *Facts) { f.To = addr("198.51.100.7") }, "", []string{"heddle check a/eth0"}},
	} {
		f, _, _ := scene()
		row.change(&f)
		got := Advise(Way(f), f, row.denied)
		if name == "policy" {
			got = append(got[:1:1], got[len(got)-1])
		}
		if len(got) != len(row.want) {
			t.Errorf("%s: %q", name, got)
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], row.want[i]) {
				t.Errorf("%s: %q does not say %q", name, got[i], row.want[i])
			}
		}
	}
}
