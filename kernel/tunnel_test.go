package kernel

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/mode/routed"
	"github.com/heddle-network/heddle/path"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/vm"
)

// tunnelPlan is what a host wants for its tunnels to peers: each has an IPv4 and
// an IPv6 block, over an IPv4 and an IPv6 underlay in turn.
func tunnelPlan(peers, blocks int) heddle.State {
	addr, prefix := netip.MustParseAddr, netip.MustParsePrefix
	s := heddle.State{Firewall: path.Default().Host(heddle.HostFacts{Fabric: &heddle.Fabric{VNI: 70, Port: 4789}}).Firewall}
	for i, local := range []string{"198.51.100.2", "2001:db8:1::2"} {
		l := heddle.Link{Name: []string{"hv4test", "hv6test"}[i], Kind: "vxlan", MTU: 1450 - 20*i, MAC: "0e:00:00:00:00:01", Group: heddle.GroupBase + 7,
			Alias: "heddle tunnel cluster=test", NoAutoAddress: true, Tunnel: &heddle.Tunnel{VNI: 70, Local: addr(local), Port: 4789}}
		s.Links = append(s.Links, l)
		s.Addresses = append(s.Addresses, heddle.Address{Link: l.Name, Prefix: prefix("fe80::1/64")})
	}
	s.Addresses = append(s.Addresses, heddle.Address{Link: "hv4test", Prefix: prefix("10.30.0.2/32")}, heddle.Address{Link: "hv4test", Prefix: prefix("fd30::2/128")})
	for i := range peers {
		mac := heddle.MAC(fmt.Sprintf("0e:00:00:00:01:%02x", i))
		six := i%2 == 1
		l, end, sets := s.Links[0], addr(fmt.Sprintf("198.51.100.%d", 10+i)), []string{"origins44", "origins46"}
		next := end
		if six {
			l, end, sets = s.Links[1], addr(fmt.Sprintf("2001:db8:1::%x", 10+i)), []string{"origins64", "origins66"}
			next = mac.LinkLocal()
		} else {
			s.Neighbours = append(s.Neighbours, heddle.Neighbour{Link: l.Name, Addr: next, MAC: mac})
		}
		s.Elements = append(s.Elements, heddle.Element{Family: "inet", Set: map[bool]string{false: "peers4", true: "peers6"}[six], Match: []string{end.String()}})
		s.Neighbours = append(s.Neighbours, heddle.Neighbour{Link: l.Name, Addr: mac.LinkLocal(), MAC: mac})
		s.Forwards = append(s.Forwards, heddle.Forward{Link: l.Name, MAC: mac, Dst: end})
		for b := range blocks {
			four := prefix(fmt.Sprintf("10.30.%d.%d/26", 1+i, 64*b))
			wide := prefix(fmt.Sprintf("fd30:0:0:%x:%x::/112", 1+i, b))
			s.Elements = append(s.Elements, heddle.Element{Family: "inet", Set: sets[0], Match: []string{end.String(), four.String()}},
				heddle.Element{Family: "inet", Set: sets[1], Match: []string{end.String(), wide.String()}})
			s.Routes = append(s.Routes, heddle.Route{Dst: four, Via: next, Link: l.Name, OnLink: true, Src: addr("10.30.0.2"), MTU: 1400},
				heddle.Route{Dst: wide, Via: mac.LinkLocal(), Link: l.Name, OnLink: true, Src: addr("fd30::2"), MTU: 1400})
		}
	}
	return s
}

// newTunnelScenario is a routed network with tunnels beside it.
func newTunnelScenario(t testing.TB) scenario {
	s := newScenario(t, "tunnel", routed.Mode{}, nil, 0)
	s.netPlan.Host = joined(t, s.netPlan.Host, tunnelPlan(2, 2))
	return s
}

// without removes the routes on the other device that have an IPv6 address of one device as their
// source. The kernel leaves these routes their source if the address goes with its device, and
// removes the source if the address is deleted, as an undo does.
const without = "; ip -6 route flush dev hv6test proto 104; "

// again is a tunnel device made by somebody else under our name.
const again = `ip link delete hv4test` + without + `ip link add hv4test mtu 1450 address 0e:00:00:00:00:01 group 0x68000007 type vxlan `

// tunnelDrifts are changes to tunnels, with the keys that they concern.
var tunnelDrifts = map[string]string{
	"ip link set hv4test mtu 1300":                              "link/hv4test",
	"ip link set hv4test address 02:00:00:00:00:99":             "link/hv4test",
	"ip link set hv4test group 7":                               "link/hv4test",
	"ip link set hv4test addrgenmode eui64":                     "link/hv4test",
	"ip link set hv4test alias ''":                              "link/hv4test",
	"ip link set hv4test down" + without:                        "link/hv4test",
	"ip link set hv4test type vxlan id 70 local 198.51.100.9":   "link/hv4test",
	"ip link set hv6test type vxlan id 70 local 2001:db8:1::99": "link/hv6test",
	"ip link set hv4test type vxlan id 70 learning":             "link/hv4test",
	"ip link set hv4test type vxlan id 70 ttl 3":                "link/hv4test",
	"ip link set hv6test type vxlan id 70 tos 4":                "link/hv6test",
	"ip link set hv4test type vxlan id 70 df set":               "link/hv4test",
	"ethtool -K hv4test tx-checksum-ip-generic off":             "link/hv4test",
	// as versions made it before they set a range of source ports
	again + "id 70 local 198.51.100.2 dstport 4789 nolearning noudpcsum":                                                           "link/hv4test",
	again + "id 71 local 198.51.100.2 srcport 512 1024 dstport 4789 nolearning noudpcsum":                                          "link/hv4test",
	again + "id 70 local 198.51.100.2 srcport 512 1024 dstport 8472 nolearning noudpcsum":                                          "link/hv4test",
	again + "id 70 local 198.51.100.2 srcport 512 1024 dstport 4789 nolearning udpcsum":                                            "link/hv4test",
	again + "id 70 local 198.51.100.2 srcport 512 1024 dstport 4789 nolearning noudpcsum dev up0":                                  "link/hv4test",
	again + "id 70 local 198.51.100.2 srcport 512 1024 dstport 4789 nolearning noudpcsum remote 198.51.100.77":                     "link/hv4test",
	again + "id 70 local 198.51.100.2 srcport 512 1024 dstport 4789 nolearning noudpcsum l2miss l3miss proxy":                      "link/hv4test",
	again + "id 72 local 2001:db8:1::5 srcport 512 1024 dstport 4789 nolearning":                                                   "link/hv4test",
	"bridge fdb replace 0e:00:00:00:01:00 dev hv4test dst 198.51.100.66 self permanent":                                            "forward/hv4test/0e:00:00:00:01:00",
	"bridge fdb replace 0e:00:00:00:01:00 dev hv4test dst 198.51.100.10 self dynamic":                                              "forward/hv4test/0e:00:00:00:01:00",
	"bridge fdb replace 0e:00:00:00:01:00 dev hv4test dst 198.51.100.10 port 99 self permanent":                                    "forward/hv4test/0e:00:00:00:01:00",
	"bridge fdb replace 0e:00:00:00:01:01 dev hv6test dst 2001:db8:1::66 vni 5 self permanent":                                     "forward/hv6test/0e:00:00:00:01:01",
	"ip route change 10.30.1.0/26 via 198.51.100.10 dev hv4test onlink src 10.30.0.2 mtu 1300 proto 104":                           "route/0/10.30.1.0/26/0/hv4test",
	"ip route change 10.30.1.0/26 via 198.51.100.10 dev hv4test onlink mtu 1400 proto 104":                                         "route/0/10.30.1.0/26/0/hv4test",
	"ip route change 10.30.1.0/26 via 198.51.100.44 dev hv4test onlink src 10.30.0.2 mtu 1400 proto 104":                           "route/0/10.30.1.0/26/0/hv4test",
	"ip route change 10.30.2.0/26 via inet6 fe80::77 dev hv6test onlink src 10.30.0.2 mtu 1400 proto 104":                          "route/0/10.30.2.0/26/0/hv6test",
	"ip route change 10.30.2.0/26 via inet6 fe80::c00:ff:fe00:101 dev hv6test src 10.30.0.2 mtu 1400 proto 104":                    "route/0/10.30.2.0/26/0/hv6test",
	"ip -6 route change fd30:0:0:1::/112 via fe80::c00:ff:fe00:100 dev hv4test onlink src fd30::2 proto 104":                       "route/0/fd30:0:0:1::/112/0/hv4test",
	"ip -6 route change fd30:0:0:1::/112 via fe80::c00:ff:fe00:100 dev hv4test onlink src fd30::2 mtu 1300 proto 104":              "route/0/fd30:0:0:1::/112/0/hv4test",
	"ip -6 route change fd30:0:0:1::/112 via fe80::77 dev hv4test onlink src fd30::2 mtu 1400 proto 104":                           "route/0/fd30:0:0:1::/112/0/hv4test",
	"nft flush set inet heddle origins44; nft add element inet heddle origins44 '{ 198.51.100.10 . 0x0a1e0100-0x0a1e01ff }'":       "element/inet/origins44/198.51.100.10.10.30.1.0/26",
	"nft delete table inet heddle; nft add table inet heddle; nft add set inet heddle origins44 '{ type ipv4_addr . ipv4_addr; }'": "firewall/inet/set/origins44",
}

// TestTunnelDrift changes tunnels in all possible ways.
func TestTunnelDrift(t *testing.T) { drifting(t, newTunnelScenario(t)) }

// A device that is not ours and has our VNI is named as the obstacle.
func TestTunnelTaken(t *testing.T) {
	r := newRoom(t)
	r.sh(uplinkScript)
	r.sh("ip link add other type vxlan id 70 local 198.51.100.2 dstport 4789")
	before := r.steady()
	_, err := r.k.Apply(heddle.Plan{Host: tunnelPlan(1, 1)}, nil)
	if err == nil || !strings.Contains(err.Error(), "VNI 70 on port 4789") {
		t.Errorf("%v", err)
	}
	t.Log(err)
	r.becomes("refused", before)
}

// What 31 peers with four blocks each cost a host. The test prints this, and sets no limit.
func TestTunnelCost(t *testing.T) {
	r := newRoom(t)
	r.sh(uplinkScript)
	p := heddle.Plan{Host: tunnelPlan(31, 4)}
	timed := func(what string, do func()) {
		start := time.Now()
		do()
		t.Logf("%s: %v", what, time.Since(start).Round(100*time.Microsecond))
	}
	timed(fmt.Sprintf("%d objects made", len(p.Host.Objects())), func() { r.apply(p) })
	timed("compared", func() { r.clean(p) })
	timed("made again", func() {
		if made := r.apply(p); len(made) > 0 {
			t.Errorf("made %v", made)
		}
	})
	timed("removed", func() { cell.Must(t, r.k.Remove(p, nil, nil)) })
	r.nothingOwned()
}

// A device that is made anew keeps the objects of other plans on it, and its index. If it cannot be
// made, the old one stays with all that it had.
func TestTunnelMadeAnew(t *testing.T) {
	r := newRoom(t)
	r.sh(uplinkScript)
	reach, others := tunnelPlan(2, 2), heddle.State{}
	others.Routes, reach.Routes = reach.Routes, nil
	others.Addresses, reach.Addresses = reach.Addresses[2:], reach.Addresses[:2]
	r.apply(heddle.Plan{Host: reach})
	r.apply(heddle.Plan{Host: others})
	r.sh("ip route add 203.0.113.0/24 dev hv4test; ip neighbour add 10.9.9.9 lladdr 02:00:00:00:00:09 dev hv6test nud permanent; sysctl -qw net/ipv4/conf/hv4test/rp_filter=2")
	before := r.steady("net/ipv4/conf/hv4test/rp_filter")
	changed := reach
	changed.Links = append([]heddle.Link{}, reach.Links...)
	for i := range changed.Links {
		tunnel := *changed.Links[i].Tunnel
		tunnel.VNI, tunnel.Port = 71, 4790
		changed.Links[i].Tunnel = &tunnel
	}
	steps := 0
	r.k.Tripwire = func(string) error { steps++; return nil }
	r.apply(heddle.Plan{Host: changed})
	r.clean(heddle.Plan{Host: changed})
	r.clean(heddle.Plan{Host: others})
	settings := strings.NewReplacer("vxlan id 70 ", "vxlan id 71 ", "dstport 4789", "dstport 4790")
	r.becomes("made anew", settings.Replace(before), "net/ipv4/conf/hv4test/rp_filter")
	before = r.steady("net/ipv4/conf/hv4test/rp_filter")
	for n := soak.Next(t, 0); n <= steps && !vm.InGuest(); n = soak.Next(t, n) { // which takes minutes there
		name := r.failAt(n)
		_, err := r.k.Apply(heddle.Plan{Host: reach}, nil)
		r.k.Tripwire = nil
		if !errors.Is(err, errInjected) {
			t.Fatalf("step %d (%s): %v", n, *name, err)
		}
		r.becomes(fmt.Sprintf("after a failure at step %d (%s)", n, *name), before, "net/ipv4/conf/hv4test/rp_filter")
	}
	// the kernel refuses this: another device has the new VNI and port
	r.sh("ip link add other type vxlan id 70 local 198.51.100.2 dstport 4789")
	before = r.steady("net/ipv4/conf/hv4test/rp_filter")
	if _, err := r.k.Apply(heddle.Plan{Host: reach}, nil); err == nil {
		t.Error("a device was made whose VNI and port another one has")
	} else {
		t.Log(err)
	}
	r.becomes("refused", before, "net/ipv4/conf/hv4test/rp_filter")
}
