package havip_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/policy"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestWithPolicy: a policy of a member guards its HAVIP, too: what no rule allows does not come, and what one allows does, with the answers.
func TestWithPolicy(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	one, friend, stranger := w.Pod(t, "one", "net", balancer), w.Pod(t, "friend", "net"), w.Pod(t, "stranger", "net")
	create(t, w, "net")
	serve(t, one)
	one.Serve(t, 9, vip4, vip6)
	announce(t, one, both...)
	held(t, w, one)
	cell.Must(t, w.CreatePolicies([]policy.Policy{{Name: "closed", Endpoints: policy.Selector{Labels: map[string]string{"role": "lb"}}, Rules: []policy.Rule{
		{Direction: policy.Ingress, Action: policy.Allow, Protocol: "tcp", Ports: []string{"7000"}, Peers: []policy.Peer{{CIDR: friend.V4().String() + "/32"}, {CIDR: friend.V6().String() + "/128"}}}}}}, false))
	answers(t, "one", port, both, friend.Netns)
	silent(t, stranger.Netns, port, both...)
	silent(t, friend.Netns, 9, both...)
	answer, err := w.TestPolicies(policy.Question{Src: stranger.V4().String(), Dst: vip4.String(), Service: "tcp/7000"})
	if err != nil || len(answer) != 1 || answer[0].Allowed {
		t.Errorf("a test says of a stranger: %+v, %v", answer, err)
	}
	cell.Must(t, w.DeletePolicy("closed"))
	answers(t, "one", port, both, stranger.Netns)
}

// TestDeniedMembers: who denies a group is not reached from a HAVIP that one of the group may send from, and does not reach it.
func TestDeniedMembers(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	one, victim, other := w.Pod(t, "one", "net", balancer), w.Pod(t, "victim", "net", func(r *heddle.AttachRequest) { r.Labels = map[string]string{"role": "victim"} }), w.Pod(t, "other", "net")
	group := []policy.Peer{{Endpoints: &policy.Selector{Labels: map[string]string{"role": "lb"}}}}
	cell.Must(t, w.CreatePolicies([]policy.Policy{{Name: "no-lb", Endpoints: policy.Selector{Labels: map[string]string{"role": "victim"}}, Rules: []policy.Rule{
		{Direction: policy.Ingress, Action: policy.Deny, Peers: group}, {Direction: policy.Ingress, Action: policy.Allow},
		{Direction: policy.Egress, Action: policy.Deny, Peers: group}, {Direction: policy.Egress, Action: policy.Allow}}}}, false))
	create(t, w, "net")
	serve(t, one)
	announce(t, one, both...)
	held(t, w, one)
	victim.Serve(t, port, victim.V4(), victim.V6())
	other.Serve(t, port, other.V4(), other.V6())
	answers(t, "victim", port, []netip.Addr{victim.V4(), victim.V6()}, other.Netns)
	answers(t, "one", port, both, other.Netns)
	silent(t, victim.Netns, port, both...)
	for _, a := range both {
		from := netip.AddrPortFrom(a, 0)
		if _, err := one.AskFrom("udp", from, netip.AddrPortFrom(other.Addr(a), port), time.Second); err != nil {
			t.Errorf("from %s to who denies nobody: %v", a, err)
		}
		if _, err := one.AskFrom("udp", from, netip.AddrPortFrom(victim.Addr(a), port), 100*time.Millisecond); err == nil {
			t.Errorf("from %s who denies the members is reached", a)
		}
	}
	w.AuditEmpty(t)
}
