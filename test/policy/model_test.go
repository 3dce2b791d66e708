package policy_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heddle-network/heddle/policy"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// TestModel: for policies and packets at random, the kernel does what the model says. Each packet begins a flow of its own.
func TestModel(t *testing.T) {
	rounds, packets := 8, 60
	if soak.On() {
		rounds = 1000
	}
	w := world.New(t)
	w.BridgeNF(t, false)
	w.Network(t, "net", "bridge")
	var pods []*world.Pod
	var seen []*world.Capture // of all rounds
	for i := range 4 {
		p := w.Pod(t, fmt.Sprint("c", i), "net", named(fmt.Sprint("c", i)), labelled("app", []string{"a", "b"}[i%2]))
		pods, seen = append(pods, p), append(seen, p.Capture(t, "eth0"))
	}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	port, allowed, asked := uint16(1000), 0, 0
	late := map[*world.Capture][][]byte{} // what must not have come at the end, too: a sender that changes its processor may be overtaken by itself
	for round := range rounds {
		all := generate(r)
		all = append(all, policy.Policy{Name: "probe", Endpoints: policy.Selector{Networks: []string{"net"}}, Rules: []policy.Rule{
			probe(policy.Ingress), probe(policy.Egress)}})
		cell.Must(t, w.CreatePolicies(all, true))
		type sent struct {
			to    int
			mark  []byte
			want  bool
			words string
		}
		var list []sent
		frames := make([][][]byte, len(pods))
		for i := range packets {
			from, to := r.IntN(len(pods)), r.IntN(len(pods))
			if from == to {
				continue
			}
			port++
			mark := fmt.Appendf(nil, "<m%03d-%05d>", round, i)
			src, dst := pods[from].V4(), pods[to].V4()
			if r.IntN(2) == 0 {
				src, dst = pods[from].V6(), pods[to].V6()
			}
			service, payload := draw(r, port, mark, dst.Is6())
			q := policy.Question{Src: src.String(), Dst: dst.String(), Service: service}
			answers, err := w.TestPolicies(q)
			cell.Must(t, err)
			proto := map[byte]byte{'t': tcp, 'u': udp, 's': sctp}[service[0]]
			if service[0] == 'i' {
				proto = icmp4
				if dst.Is6() {
					proto = icmp6
				}
			}
			frames[from] = append(frames[from], frame(pods[from].Endpoint.MAC, pods[to].Endpoint.MAC, ip(src, dst, proto, payload)))
			list = append(list, sent{to, mark, answers[0].Allowed, fmt.Sprint(q, answers[0].Steps)})
		}
		for i, p := range pods {
			p.Send(t, "eth0", frames[i]...)
			for j, other := range pods {
				if i != j {
					p.Send(t, "eth0", frame(p.Endpoint.MAC, other.Endpoint.MAC, ip(p.V4(), other.V4(), udp, datagram(1, 9, fmt.Appendf(nil, "<done-%d>", round)))))
				}
			}
		}
		for _, c := range seen {
			c.Await(len(pods)-1, func(f world.Frame) bool { return !f.Out && world.Contains(fmt.Sprintf("<done-%d>", round))(f) })
		}
		for _, s := range list {
			is := func(f world.Frame) bool { return !f.Out && bytes.HasSuffix(f.Data, s.mark) }
			if s.want {
				seen[s.to].Await(1, is)
			} else {
				late[seen[s.to]] = append(late[seen[s.to]], s.mark)
			}
			came := seen[s.to].Has(is)
			if came != s.want {
				t.Fatalf("seed %d, round %d: came is %t: %s\npolicies %+v", seed, round, came, s.words, all)
			}
			asked++
			if came {
				allowed++
			}
		}
	}
	for c, marks := range late {
		for _, f := range c.Stop() {
			if i := slices.IndexFunc(marks, func(m []byte) bool { return bytes.HasSuffix(f.Data, m) }); i >= 0 && !f.Out {
				t.Errorf("seed %d: %s came late, and was denied", seed, marks[i])
			}
		}
	}
	t.Logf("%d of %d packets were allowed", allowed, asked)
	if allowed < asked/100 || allowed > asked*99/100 { // eight rounds may have strict policies alone
		t.Errorf("seed %d: of %d packets %d were allowed: that shows little", seed, asked, allowed)
	}
}

// probe lets a datagram pass that shows that what was sent before it has been decided.
func probe(d policy.Direction) policy.Rule {
	first := 0
	return policy.Rule{Direction: d, Action: policy.Allow, Priority: &first, Protocol: "udp", Ports: []string{"9"}}
}

// generate makes policies at random.
func generate(r *rand.Rand) (all []policy.Policy) {
	one := func(words ...string) string { return words[r.IntN(len(words))] }
	selector := func() policy.Selector {
		switch r.IntN(3) {
		case 0:
			return policy.Selector{Labels: map[string]string{"app": one("a", "b")}}
		case 1:
			return policy.Selector{Names: []string{one("c0", "c1"), one("c2", "c3")}}
		}
		return policy.Selector{Networks: []string{"net"}}
	}
	for i := range 2 {
		p := policy.Policy{Name: fmt.Sprint("p", i), Endpoints: selector()}
		for range 2 + r.IntN(6) {
			priority := 1 + r.IntN(3)
			rule := policy.Rule{Direction: policy.Direction(one("ingress", "egress")), Action: policy.Action(one("allow", "allow", "deny")), Priority: &priority,
				Protocol: one("", "", "tcp", "udp", "sctp", "icmp")}
			switch {
			case rule.Protocol == "icmp" && r.IntN(2) == 0:
				rule.Types = []string{one("echo-request", "echo-reply", "timestamp-request")}
			case rule.Protocol != "" && rule.Protocol != "icmp" && r.IntN(2) == 0:
				rule.Ports = []string{one("80", "80-90", "85-443"), one("443", "8000-9000")}
			}
			for range r.IntN(6) / 2 {
				switch r.IntN(4) {
				case 0:
					s := selector()
					rule.Peers = append(rule.Peers, policy.Peer{Endpoints: &s})
				case 1:
					rule.Peers = append(rule.Peers, policy.Peer{CIDR: "10.20.0.0/16", Except: []string{one("10.20.0.2/31", "10.20.0.4/32")}})
				case 2:
					rule.Peers = append(rule.Peers, policy.Peer{CIDR: one("fd20::/64", "::/0", "fd20::/126")})
				case 3:
					rule.Peers = append(rule.Peers, policy.Peer{CIDR: one("0.0.0.0/0", "10.20.0.0/30", "10.20.0.3/32", "198.51.100.0/24")})
				}
			}
			p.Rules = append(p.Rules, rule)
		}
		all = append(all, p)
	}
	return all
}

// draw is a service at random, and what begins a flow to it.
func draw(r *rand.Rand, from uint16, mark []byte, v6 bool) (service string, payload []byte) {
	port := []uint16{80, 85, 443, 444, 8500}[r.IntN(5)]
	switch r.IntN(4) {
	case 0:
		return fmt.Sprint("tcp/", port), segment(from, port, 2, mark)
	case 1:
		return fmt.Sprint("udp/", port), datagram(from, port, mark)
	case 2:
		return fmt.Sprint("sctp/", port), join(ports(from, port), make([]byte, 8), mark)
	}
	i := r.IntN(2)
	kind := [][]byte{{8, 0}, {128, 129}}[map[bool]int{false: 0, true: 1}[v6]][i]
	return "icmp/" + []string{"echo-request", "echo-reply"}[i], message(kind, 0, ports(from, 1), mark)
}
