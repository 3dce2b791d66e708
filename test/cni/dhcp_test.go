package cni_test

import (
	"strings"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

// TestDHCP: the result has the address and router of the LAN's DHCP server. Without one ADD fails and
// leaves nothing, and DEL gives the lease back.
func TestDHCP(t *testing.T) {
	h := newHost(t)
	l, c := chain(t, "1.1.0", `"mode":"macvlan","parent":"up0","options":{"addresses":"dhcp"}`), container(t, "c1")
	if _, err := h.AddNetworkList(ctx, l, c); err == nil || !strings.Contains(err.Error(), string(heddle.NoLease)) {
		t.Fatalf("without a server: %v", err)
	}
	h.mustDel(l, c)
	s := h.outside.ServeDHCP(t, "eth0")
	r := h.mustAdd(l, c)
	if len(r.IPs) != 1 || r.IPs[0].Address.String() != "192.0.2.50/24" || r.IPs[0].Gateway.String() != "192.0.2.2" || len(r.Routes) != 1 || r.Routes[0].GW.String() != "192.0.2.2" {
		t.Errorf("result: %+v", r)
	}
	if err := h.CheckNetworkList(ctx, l, c); err != nil {
		t.Error(err)
	}
	cell.Sh(t, "ip netns exec c1 ping -c1 -w30 192.0.2.2")
	h.mustDel(l, c)
	if s.Count(dhcpv4.MessageTypeRelease) != 1 {
		t.Errorf("the server was told %v", s.Asked())
	}
}
