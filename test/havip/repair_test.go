package havip_test

import (
	"testing"

	"github.com/heddle-network/heddle/policy"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestRepaired: what somebody takes away is put back, and a bridge that is made anew is heard.
func TestRepaired(t *testing.T) {
	w := world.New(t)
	n := w.Network(t, "net", "bridge")
	one, two, client := w.Pod(t, "one", "net", balancer), w.Pod(t, "two", "net", balancer), w.Pod(t, "client", "net")
	create(t, w, "net")
	serve(t, one)
	serve(t, two)
	announce(t, one, both...)
	held(t, w, one)
	for _, damage := range []string{"nft flush ruleset", "ip neigh del " + vip4.String() + " dev " + n.BridgeName(0), "ip link del " + n.BridgeName(0)} {
		w.Host.Sh(t, "%s", damage)
		world.Soon(t, "it is repaired after "+damage, func() error {
			found, err := w.Audit()
			if err == nil && len(found) > 0 {
				err = errNotYet
			}
			return err
		})
		answers(t, "one", port, both, client.Netns, w.Host)
	}
	world.Soon(t, "the new bridge is heard", func() error {
		announce(t, two, both...)
		h, err := w.HAVIP("four")
		if err == nil && (h.Holder == nil || *h.Holder != two.Endpoint.ID) {
			err = errNotYet
		}
		return err
	})
	held(t, w, two)
	answers(t, "two", port, both, client.Netns, w.Host)
}

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
	cell.Must(t, w.DeletePolicy("closed"))
	answers(t, "one", port, both, stranger.Netns)
}
