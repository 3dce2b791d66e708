package policy

import (
	"fmt"
	"net/netip"
	"os"
	"testing"

	"github.com/heddle-network/heddle/firewall"
)

func TestShow(t *testing.T) {
	all := Policies{"a": {Name: "a", Endpoints: Selector{Labels: map[string]string{"app": "db"}}, Rules: []Rule{
		{Direction: Ingress, Action: Allow, Protocol: "tcp", Ports: []string{"80", "100-200"}, Peers: []Peer{{CIDR: "10.0.0.0/8", Except: []string{"10.1.0.0/16"}}, {CIDR: "0.0.0.0/0"}, {CIDR: "fd00::/8"}, {Endpoints: &Selector{Names: []string{"x"}}}}},
		{Direction: Egress, Action: Deny, Protocol: "icmp", Types: []string{"echo-request"}},
		{Direction: Egress, Action: Allow, Protocol: "icmp"},
		{Direction: Egress, Action: Allow},
	}}}
	g := all.Compile([]Member{{Name: "x", Port: "hd1", Labels: map[string]string{"app": "db"}, Addrs: []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1")}}})
	text := firewall.Ruleset(g.All().Firewall)
	for _, e := range g.All().Elements {
		text += "# " + firewall.AddElement(e) + "\n"
	}
	fmt.Println(text)
	os.WriteFile("/tmp/show.nft", []byte(text), 0o600)
}
