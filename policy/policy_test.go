package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"pgregory.net/rapid"
)

// TestRead: what a person writes wrong is refused with line and key.
func TestRead(t *testing.T) {
	const head = "policies:\n- name: p\n  endpoints: {labels: {app: db}}\n"
	rule := func(words string) string {
		return head + "  rules:\n  - {direction: ingress, action: allow, " + words + "}\n"
	}
	for _, c := range []struct{ text, want string }{
		{"", "it is empty"},
		{"policies: []", "it has no policies"},
		{head + "  speed: 1\n", "line 4"},
		{head, "line 2, policies.1.rules: there are neither rules nor directions"},
		{"policies:\n- name: p\n  rules: []\n", "it selects nothing"},
		{"policies:\n- name: -p\n", "line 2, policies.1.name"},
		{head + "  directions: [up]\n", "line 4, policies.1.directions.1"},
		{head + "  directions: [egress]\n  rules:\n  - {direction: ingress, action: allow}\n", "it is none of the policy's directions"},
		{head + "  rules:\n  - {direction: ingress, action: log}\n", `line 5, policies.1.rules.1.action: "log" is none of allow and deny`},
		{rule("protocol: gre"), "policies.1.rules.1.protocol"},
		{rule("ports: [80]"), "ports are of a protocol that has ports"},
		{rule("protocol: tcp, ports: [0]"), `"0" is no port`},
		{rule("protocol: tcp, ports: [90-80]"), `"90-80" is no port`},
		{rule("protocol: tcp, ports: [65536]"), `"65536" is no port`},
		{rule("protocol: tcp, types: [echo-request]"), "types are of icmp"},
		{rule("protocol: icmp, types: [redirect]"), `"redirect" is no type`},
		{rule("priority: 65536"), "65536 is no number"},
		{rule("priority: low"), "line 5"},
		{rule("peers: [{}]"), "it has both cidr and endpoints, or neither"},
		{rule("peers: [{cidr: 10.0.0.1/8}]"), "peers.1.cidr"},
		{rule("peers: [{cidr: '::ffff:10.0.0.0/104'}]"), "peers.1.cidr"},
		{rule("peers: [{cidr: 10.0.0.0/8, except: [11.0.0.0/9]}]"), "peers.1.except.1"},
		{rule("peers: [{cidr: 10.0.0.0/8, except: [10.0.0.0/8]}]"), "peers.1.except.1"},
		{rule("peers: [{endpoints: {}}]"), "peers.1.endpoints: it selects nothing"},
		{rule("peers: [{endpoints: {names: [x]}, except: [10.0.0.0/8]}]"), "exceptions are of a cidr"},
		{rule("protocol: tcp") + strings.TrimPrefix(rule("protocol: udp"), "policies:\n"), "the name of another policy"},
		{head + "  rules: [" + strings.Repeat("{direction: egress, action: allow}, ", maxRules+1) + "]\n", fmt.Sprint("give at most ", maxRules)},
	} {
		_, err := Read(strings.NewReader(c.text), "file")
		if !errors.Is(err, heddle.BadPolicy.Sentinel()) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", heddle.Clip(c.text), err, c.want)
		}
	}
	all, err := Read(strings.NewReader(rule("protocol: tcp, ports: [80, 8000-8100], priority: 0, peers: [{cidr: 10.0.0.0/8, except: [10.1.0.0/16]}]")), "file")
	if err != nil || len(all) != 1 || fmt.Sprint(all[0].Rules[0].Ports) != "[80 8000-8100]" || *all[0].Rules[0].Priority != 0 {
		t.Errorf("read %+v, %v", all, err)
	}
}

// TestDecide: which rule decides.
func TestDecide(t *testing.T) {
	all := Policies{}
	policies, err := Read(strings.NewReader(`
policies:
- name: db
  endpoints: {labels: {app: db}}
  rules:
  - {direction: ingress, action: allow, protocol: tcp, ports: [5432], peers: [{endpoints: {labels: {app: web}}}, {cidr: 10.9.0.0/16, except: [10.9.1.0/24]}]}
  - {direction: ingress, action: deny, priority: 5, peers: [{cidr: 10.0.0.3/32}]}
  - {direction: ingress, action: allow, protocol: sctp}
  - {direction: ingress, action: deny, protocol: sctp, ports: [7]}
- name: all
  endpoints: {networks: [net]}
  directions: [egress]
  rules:
  - {direction: egress, action: deny, protocol: icmp}
  - {direction: egress, action: allow}
`), "file")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range policies {
		all[p.Name] = p
	}
	member := func(name, app, network, addr string) Member {
		return Member{ID: heddle.EndpointID{Container: name, IfName: "eth0"}, Name: name, Network: network, Labels: map[string]string{"app": app}, Addrs: []netip.Addr{netip.MustParseAddr(addr)}, Port: name}
	}
	members := []Member{member("db", "db", "net", "10.0.0.1"), member("web", "web", "net", "10.0.0.2"), member("bad", "web", "net", "10.0.0.3"), member("far", "x", "far", "10.7.0.1")}
	for _, c := range []struct{ src, dst, service, want string }{
		{"web", "db", "tcp/5432", "true rule 2 of policy all, rule 1 of policy db"},
		{"web", "db", "tcp/5433", "false rule 2 of policy all, no rule of db allows it"},
		{"web", "db", "sctp/7", "false rule 2 of policy all, rule 4 of policy db"}, // of one priority, a denial comes first
		{"web", "db", "sctp/8", "true rule 2 of policy all, rule 3 of policy db"},
		{"web", "db", "udp/5432", "false rule 2 of policy all, no rule of db allows it"},
		{"web", "db", "icmp/echo-request", "false rule 1 of policy all"},
		{"bad", "db", "tcp/5432", "false rule 2 of policy all, rule 2 of policy db"},
		{"10.9.2.1", "db", "tcp/5432", "true rule 1 of policy db"},
		{"10.9.1.1", "db", "tcp/5432", "false no rule of db allows it"},
		{"far", "web", "sctp/1", "true no policy selects it, no policy selects it"},
		{"10.8.0.1", "10.8.0.2", "udp/1", "true "},
	} {
		id := func(word string) string {
			if word[0] != '1' {
				word += "/eth0"
			}
			return word
		}
		answers, err := all.Ask(members, Question{id(c.src), id(c.dst), c.service})
		if err != nil || len(answers) != 1 {
			t.Errorf("%+v: %v, %v", c, answers, err)
			continue
		}
		var why []string
		for _, s := range answers[0].Steps {
			why = append(why, s.Why())
		}
		if got := fmt.Sprint(answers[0].Allowed, " ", strings.Join(why, ", ")); got != c.want {
			t.Errorf("%s to %s, %s: %s, want %s", c.src, c.dst, c.service, got, c.want)
		}
	}
	for _, bad := range []Question{{"db/eth0", "no/eth0", "tcp/1"}, {"db/eth0", "fd00::1", "tcp/1"}, {"db/eth0", "web/eth0", "tcp"}, {"db/eth0", "web/eth0", "icmp/8"}, {"db/eth0", "web/eth0", "tcp/1-2"}} {
		if _, err := all.Ask(members, bad); err == nil {
			t.Errorf("%+v is answered", bad)
		}
	}
}

// TestGroupIsOneRule: a thousand members are one rule and a set, and what no policy needs is not there.
func TestGroupIsOneRule(t *testing.T) {
	var members []Member
	for i := range 1000 {
		members = append(members, Member{ID: heddle.EndpointID{Container: fmt.Sprint("c", i), IfName: "eth0"}, Labels: map[string]string{"app": "web"}, Port: fmt.Sprint("hd", i),
			Addrs: []netip.Addr{netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})}})
	}
	p := Policy{Name: "p", Endpoints: Selector{Labels: map[string]string{"app": "web"}}, Rules: []Rule{{Direction: Ingress, Action: Allow, Peers: []Peer{{Endpoints: &Selector{Labels: map[string]string{"app": "web"}}}}}}}
	g := Policies{"p": p}.Compile(members, true)
	_, static := firewall.Policed(true)
	if n := len(g.Chains.Firewall) - len(static); n != 2 {
		t.Errorf("%d chains beside the static ones", n)
	}
	if rules := g.Chains.Firewall[len(g.Chains.Firewall)-1].Rules; len(rules) != 4 {
		t.Errorf("the chain has the rules %q", rules)
	}
	if len(g.Ports.Elements) != 2000 || len(g.Groups.Elements) != 2000 {
		t.Errorf("%d ports, %d addresses", len(g.Ports.Elements), len(g.Groups.Elements))
	}
	p.Endpoints.Labels = map[string]string{"app": "db"}
	if g := (Policies{"p": p}).Compile(members, true); len(g.All().Objects()) != 0 {
		t.Error("a policy that selects nobody needs something")
	}
}

// TestOrder: the order of the policies, of their rules' lists and of the endpoints changes nothing of what the firewall gets.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all, members := Policies{}, drawMembers(rt)
		for range rapid.IntRange(1, 3).Draw(rt, "policies") {
			p := drawPolicy(rt)
			if err := p.Check(); err != nil {
				rt.Fatalf("%+v: %v", p, err)
			}
			all[p.Name] = p
		}
		one := all.Compile(members, true)
		for _, p := range all {
			for _, r := range p.Rules {
				slices.Reverse(r.Ports)
				slices.Reverse(r.Types)
			}
			slices.Reverse(p.Endpoints.Names)
		}
		if two := all.Compile(members, true); fmt.Sprint(one.Chains) != fmt.Sprint(two.Chains) {
			rt.Fatalf("got %v\nand %v", one.Chains, two.Chains)
		}
	})
}
