package policy_test

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/test/world"
)

// TestFullTable: an endpoint that begins more flows than the host remembers keeps itself and others from beginning more, and nobody from going on.
func TestFullTable(t *testing.T) {
	w := world.New(t)
	w.BridgeNF(t, false)
	w.Network(t, "net", "bridge")
	hog, shut, peer := w.Pod(t, "hog", "net", named("hog")), w.Pod(t, "shut", "net", named("shut")), w.Pod(t, "peer", "net", named("peer"))
	enforce(t, w, `
policies:
- name: shut
  endpoints: {names: [hog, shut]}
  rules:
  - {direction: ingress, action: deny}
  - {direction: egress, action: allow}
`)
	echo(t, peer, peer.V4(), 7000)
	open := dial(t, shut, netip.AddrPortFrom(peer.V4(), 7000))
	answered := func() error { return ask(open) }
	world.Soon(t, "a flow is answered", answered)
	one := frame(hog.Endpoint.MAC, peer.Endpoint.MAC, ip(hog.V4(), peer.V4(), udp, datagram(0, 7001, []byte("more"))))
	var flood [][]byte
	for i := range 1<<16 + 1000 {
		f := append([]byte{}, one...)
		binary.BigEndian.PutUint16(f[34:], uint16(i))
		binary.BigEndian.PutUint16(f[36:], uint16(8000+i>>16))
		flood = append(flood, f)
	}
	hog.Send(t, "eth0", flood...)
	counted := func() bool {
		return !strings.Contains(w.Host.Sh(t, "nft list counter bridge heddle untracked"), "packets 0")
	}
	if !counted() {
		t.Error("the table is not full")
	}
	for range 20 {
		if err := answered(); err != nil {
			t.Errorf("a flow that was there does not go on: %v", err)
		}
	}
	late := dial(t, shut, netip.AddrPortFrom(peer.V4(), 7000))
	if ask(late) == nil {
		t.Error("a flow is answered that is not remembered")
	}
	w.AuditEmpty(t)
}
