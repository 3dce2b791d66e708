package kernel

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/mode/routed"
)

// tunnelState is what a host wants for its tunnels to peers: each has an IPv4 and
// an IPv6 block, over an IPv4 and an IPv6 underlay in turn.
func tunnelPlan(peers, blocks int) heddle.State {
	addr, prefix := netip.MustParseAddr, netip.MustParsePrefix
	s := heddle.State{Firewall: []heddle.Firewall{{Family: "inet", Kind: "table"},
		{Family: "inet", Kind: "set", Name: "peers4", Spec: "type ipv4_addr;"},
		{Family: "inet", Kind: "set", Name: "origins44", Spec: "typeof ip saddr . @th,336,32; flags interval;"},
		{Family: "inet", Kind: "set", Name: "origins46", Spec: "typeof ip saddr . @th,304,128; flags interval;"},
		{Family: "inet", Kind: "set", Name: "origins64", Spec: "typeof ip6 saddr . @th,336,32; flags interval;"},
		{Family: "inet", Kind: "set", Name: "origins66", Spec: "typeof ip6 saddr . @th,304,128; flags interval;"}}}
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
			s.Elements = append(s.Elements, heddle.Element{Family: "inet", Set: "peers4", Match: []string{end.String()}})
			s.Neighbours = append(s.Neighbours, heddle.Neighbour{Link: l.Name, Addr: next, MAC: mac})
		}
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

// newTunnelScenario is a routed network beside which there are tunnels.
func newTunnelScenario(t testing.TB) scenario {
	s := newScenario(t, "tunnel", routed.Mode{}, nil, 0)
	s.netPlan.Host = heddle.Append(s.netPlan.Host, heddle.State{})
	union, conflicts := s.netPlan.Host.Union(tunnelPlan(2, 2))
	if len(conflicts) > 0 {
		t.Fatal(conflicts)
	}
	s.netPlan.Host = union
	return s
}

func TestTunnelX(t *testing.T) {
	r := newRoom(t)
	r.sh(uplinkScript)
	p := heddle.Plan{Host: tunnelPlan(4, 2)}
	made := r.apply(p)
	t.Log(len(made), len(p.Host.Objects()))
	r.clean(p)
	if again := r.apply(p); len(again) > 0 {
		t.Errorf("again made %v", again)
	}
	t.Log(r.sh("ip -d link show hv4test; bridge fdb show dev hv6test; ip route show proto 104; ip -6 route show proto 104; nft list table inet heddle"))
	typed := newRoom(t)
	typed.sh(uplinkScript)
	typed.sh(strings.Join(p.Commands(""), "\n"))
	typed.clean(p)
	check(t, r.k.Remove(p, nil, nil))
	r.nothingOwned()
}
