package agent

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
)

// seen is a cluster that looks as it looks.
type seen struct {
	cluster.API
	view cluster.View
}

func (s seen) View() *cluster.View { return &s.view }

// TestHostsLeftOut: the status names the hosts that are no peers.
func TestHostsLeftOut(t *testing.T) {
	s := seen{view: cluster.View{Revision: 1, Alive: map[string]bool{"b": true}}}
	s.view.Peers = []heddle.Host{{Name: "b"}}
	a := &Agent{opt: Options{Cluster: s}}
	if p := a.hostsPart(); p.State != "ok" || p.Detail != "2" {
		t.Errorf("%+v", p)
	}
	s.view.LeftOut = []heddle.Host{{Name: "c", Underlay: []netip.Addr{netip.MustParseAddr("192.0.2.7")}}}
	a.opt.Cluster = s
	if p := a.hostsPart(); p.State != "warn" || !strings.Contains(p.Detail, "c [192.0.2.7]") || !strings.Contains(p.Detail, "heddle host remove") {
		t.Errorf("%+v", p)
	}
}
