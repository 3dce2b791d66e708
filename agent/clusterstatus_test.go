package agent

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
)

// TestHostsLeftOut: the status names the hosts that cannot be peers.
func TestHostsLeftOut(t *testing.T) {
	v := &cluster.View{Revision: 1, Alive: map[string]bool{"b": true}}
	v.Peers = []heddle.Host{{Name: "b"}}
	if p := hostsPart(v); p.State != "ok" || p.Detail != "2" {
		t.Errorf("%+v", p)
	}
	v.LeftOut = []heddle.Host{{Name: "c", Underlay: []netip.Addr{netip.MustParseAddr("192.0.2.7")}}}
	if p := hostsPart(v); p.State != "warn" || !strings.Contains(p.Detail, "c [192.0.2.7]") ||
		!strings.Contains(p.Detail, "heddle host remove") {
		t.Errorf("%+v", p)
	}
}
