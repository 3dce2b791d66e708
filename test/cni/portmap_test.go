package cni_test

import (
	"net"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestPortmap publishes a port by Debian's plugin portmap in our place: it answers the outside, the
// host, a neighbour, and the container itself, also where bridged frames pass the IP firewall.
func TestPortmap(t *testing.T) {
	h := newHost(t)
	h.debian("portmap")
	if _, err := cell.TrySh("sysctl -qw net.bridge.bridge-nf-call-iptables=1 net.bridge.bridge-nf-call-ip6tables=1"); err != nil {
		t.Log("this kernel has no br_netfilter")
	}
	for mode, subnets := range map[string]string{"bridge": `"10.20.0.0/24","fd20::/64"`, "routed": `"10.21.0.0/24","fd21::/64"`} {
		t.Run(mode, func(t *testing.T) {
			l := list(t, `{"cniVersion":"1.0.0","name":"`+mode+`","plugins":[{"type":"heddle-cni","mode":"`+mode+`","subnets":[`+subnets+`]},
				{"type":"portmap","capabilities":{"portMappings":true}}]}`)
			c, next := container(t, "server"), container(t, "neighbour")
			h.mustAdd(l, next)
			defer h.mustDel(l, next)
			c.CapabilityArgs = map[string]any{"portMappings": []map[string]any{{"hostPort": 18080, "containerPort": 80, "protocol": "tcp"}}}
			h.mustAdd(l, c)
			defer h.mustDel(l, c)
			serve(t, world.Netns{Name: "server", Path: c.NetNS})
			for _, address := range []string{hostAddress, hostAddress6} {
				for _, from := range []world.Netns{h.outside, {Name: "host"}, {Name: "neighbour", Path: next.NetNS}, {Name: "server", Path: c.NetNS}} {
					if err := hear(from, net.JoinHostPort(address, "18080")); err != nil {
						t.Errorf("%s from %s: %v", address, from.Name, err)
					}
				}
			}
		})
	}
	if _, err := h.GC(ctx, "", nil); err != nil { // it takes back what portmap leaves, see docs/guides/cni.md
		t.Error(err)
	}
}
