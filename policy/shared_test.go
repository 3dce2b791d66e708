package policy

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestShared: a rule that denies a group means addresses that its endpoints share with others; one that allows it does not. Who holds such an
// address guards it by its own policies.
func TestShared(t *testing.T) {
	shared := netip.MustParseAddr("10.0.0.50")
	member := func(app, addr string, shares ...netip.Addr) Member {
		return Member{ID: heddle.EndpointID{Container: app, IfName: "eth0"}, Labels: map[string]string{"app": app}, Addrs: []netip.Addr{netip.MustParseAddr(addr)}, Port: app, Shared: shares}
	}
	members := []Member{member("db", "10.0.0.1"), member("web", "10.0.0.2", shared), member("spare", "10.0.0.3", shared), member("open", "10.0.0.4")}
	members[1].Held = []netip.Addr{shared}
	web := []Peer{{Endpoints: &Selector{Labels: map[string]string{"app": "web"}}}}
	all := Policies{
		"denies": {Name: "denies", Endpoints: Selector{Labels: map[string]string{"app": "db"}}, Rules: []Rule{{Direction: Ingress, Action: Deny, Peers: web}, {Direction: Ingress, Action: Allow}}},
		"allows": {Name: "allows", Endpoints: Selector{Labels: map[string]string{"app": "open"}}, Rules: []Rule{{Direction: Ingress, Action: Allow, Peers: web}}},
		"holder": {Name: "holder", Endpoints: Selector{Labels: map[string]string{"app": "web"}}, Rules: []Rule{{Direction: Ingress, Action: Allow, Protocol: "tcp", Ports: []string{"80"}}}},
	}
	for _, c := range []struct {
		src, dst, service string
		want              bool
	}{
		{"10.0.0.50", "10.0.0.1", "tcp/1", false}, {"10.0.0.3", "10.0.0.1", "tcp/1", true},
		{"10.0.0.50", "10.0.0.4", "tcp/1", false}, {"10.0.0.2", "10.0.0.4", "tcp/1", true},
		{"10.0.0.3", "10.0.0.50", "tcp/80", true}, {"10.0.0.3", "10.0.0.50", "tcp/81", false},
	} {
		answer, err := all.Ask(members, Question{c.src, c.dst, c.service})
		if err != nil || len(answer) != 1 || answer[0].Allowed != c.want {
			t.Errorf("%s to %s, %s: %+v, %v, want %t", c.src, c.dst, c.service, answer, err, c.want)
		}
	}
	var sets []string
	for _, e := range all.Compile(members, true).Groups.Elements {
		if e.Match[0] == shared.String() {
			sets = append(sets, e.Set)
		}
	}
	if len(sets) != 1 || !strings.HasPrefix(sets[0], "group4-") || !strings.HasSuffix(sets[0], "-shared") {
		t.Errorf("the address is in the sets %q", sets)
	}
}
