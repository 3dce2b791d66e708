package policy

import (
	"fmt"
	"net/netip"

	"github.com/heddle-network/heddle"
	"pgregory.net/rapid"
)

func drawMembers(t *rapid.T) (all []Member) {
	for i := range rapid.IntRange(0, 4).Draw(t, "members") {
		all = append(all, Member{ID: heddle.EndpointID{Container: fmt.Sprint("c", i), IfName: "eth0"}, Port: fmt.Sprint("hd", i), Network: "net", Name: fmt.Sprint("c", i),
			Labels: map[string]string{"app": rapid.SampledFrom([]string{"a", "b"}).Draw(t, "app")},
			Addrs:  []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)})}})
	}
	return all
}

func drawSelector(t *rapid.T) Selector {
	switch rapid.IntRange(0, 2).Draw(t, "selector") {
	case 0:
		return Selector{Networks: []string{"net"}}
	case 1:
		return Selector{Labels: map[string]string{"app": rapid.SampledFrom([]string{"a", "b"}).Draw(t, "label")}}
	}
	return Selector{Names: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"c0", "c1", "c2"}), 1, 3, rapid.ID[string]).Draw(t, "names")}
}

func drawPolicy(t *rapid.T) Policy {
	p := Policy{Name: rapid.SampledFrom([]string{"p", "q", "r"}).Draw(t, "name"), Endpoints: drawSelector(t)}
	for range rapid.IntRange(1, 4).Draw(t, "rules") {
		r := Rule{Direction: rapid.SampledFrom([]Direction{Ingress, Egress}).Draw(t, "direction"), Action: rapid.SampledFrom([]Action{Allow, Deny}).Draw(t, "action"),
			Protocol: rapid.SampledFrom([]string{"", "tcp", "udp", "icmp"}).Draw(t, "protocol")}
		switch r.Protocol {
		case "tcp", "udp":
			r.Ports = rapid.SliceOfN(rapid.SampledFrom([]string{"80", "81-90", "85-100"}), 0, 3).Draw(t, "ports")
		case "icmp":
			r.Types = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"echo-request", "timestamp-request"}), 0, 2, rapid.ID[string]).Draw(t, "types")
		}
		if rapid.Bool().Draw(t, "has peers") {
			s := drawSelector(t)
			r.Peers = append(r.Peers, Peer{Endpoints: &s}, Peer{CIDR: "10.0.0.0/29", Except: []string{"10.0.0.2/31"}})
		}
		p.Rules = append(p.Rules, r)
	}
	return p
}
