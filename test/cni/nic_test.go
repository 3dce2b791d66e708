package cni_test

import (
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
)

// TestNIC adds, checks and deletes on a network of NICs: by name, by MAC
// address, with the container dying before its DEL.
func TestNIC(t *testing.T) {
	h := newHost(t)
	cell.Sh(t, `sysctl -qw net/ipv6/conf/default/accept_dad=0
		for i in 1 2; do
			ip link add nic$i address 02:00:00:0d:0$i:01 mtu 1450 type veth peer name far$i; ip link set far$i up
			ip link set nic$i up; ip address add 10.5$i.0.2/24 dev nic$i; ip address add fd5$i::2/64 dev nic$i nodad
			ip route add 198.18.$i.0/24 via 10.5$i.0.1 dev nic$i; ip route add default via 10.5$i.0.1 dev nic$i metric 900$i
		done`)
	t.Cleanup(func() { cell.TrySh("ip link del nic1; ip link del nic2") })
	look := func() string {
		return cell.Sh(t, `for i in 1 2; do ip -o address show dev nic$i | sed 's/valid_lft.*//'; ip route show table all dev nic$i | sed 's/ linkdown//'; ip -6 route show dev nic$i; done`)
	}
	before := ""
	// a carrier is noticed within a second, and the link-local routes come
	poll.Until(3*time.Minute, 1500*time.Millisecond, poll.True(func() bool {
		last := before
		before = look()
		return before == last
	}))
	plugin := `"mode":"direct","options":{"nics":"nic1,nic2"}`
	l := chain(t, "1.1.0", plugin+`,"args":{"cni":{"nic":"nic2"}}`)
	c := container(t, "c1")
	r := h.mustAdd(l, c)
	if len(r.Interfaces) != 1 || r.Interfaces[0].Name != "eth0" || r.Interfaces[0].Mac != "02:00:00:0d:02:01" || r.Interfaces[0].Mtu != 1450 ||
		len(r.IPs) != 2 || r.IPs[0].Address.String() != "10.52.0.2/24" || len(r.Routes) != 1 || r.Routes[0].GW.String() != "10.52.0.1" {
		t.Errorf("result %+v %+v %+v", r.Interfaces, r.IPs, r.Routes)
	}
	if err := h.CheckNetworkList(ctx, l, c); err != nil {
		t.Errorf("CHECK: %v", err)
	}
	cell.Sh(t, "ip -n c1 link set eth0 down")
	if err := h.CheckNetworkList(ctx, l, c); err == nil || !strings.Contains(err.Error(), "eth0") {
		t.Errorf("CHECK of a NIC that is down: %v", err)
	}
	cell.Sh(t, "ip -n c1 link set eth0 up")

	second := container(t, "c2")
	second.CapabilityArgs = map[string]any{"mac": "02:00:00:0d:01:01"}
	both := chain(t, "1.1.0", plugin)
	if r := h.mustAdd(both, second); r.Interfaces[0].Mac != "02:00:00:0d:01:01" {
		t.Errorf("result %+v", r.Interfaces[0])
	}
	third := container(t, "c3")
	if _, err := h.AddNetworkList(ctx, both, third); err == nil || !strings.Contains(err.Error(), "is with c1/eth0") {
		t.Errorf("ADD with all NICs away: %v", err)
	}
	h.mustDel(both, third)

	h.mustDel(l, c)
	cell.Sh(t, "ip netns del c2") // and only then its DEL
	h.mustDel(both, second)
	h.mustDel(both, second)
	after := ""
	poll.Until(3*time.Minute, 100*time.Millisecond, poll.True(func() bool {
		after = look()
		return after == before
	}))
	if after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}
