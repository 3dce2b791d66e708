package fast_test

import (
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/span"
)

// TestThirdHost: a peer that is known sends from another peer's addresses. None of it
// comes to a container, by the fast path or by the stack; what it sends from its own
// block does.
func TestThirdHost(t *testing.T) {
	soak.Turn(t, 2)
	for _, f := range heddle.Families() {
		t.Run("over "+f.String(), func(t *testing.T) {
			s := newSceneOver(t, f)
			third := s.ThirdHost()
			n := s.Network(t, 5, nil)
			a, far := s.Pod(t, "target", 0, n, at(0, 0)), s.Pod(t, "owner", 1, n, at(1, 0))
			for _, w := range ways[:2] {
				t.Run(w.name, func(t *testing.T) {
					defer s.set(t, w)()
					for i, subnet := range n.Subnets {
						send := func(what string, src netip.Addr, reason string) {
							t.Helper()
							d := datagram{src: src, dst: a.Addrs()[i], ttl: 64, mark: "forged-mark"}
							s.dropped(t, what, s.LAN, "br0", s.tunnelled(t, tunnel{outer: third.Underlay[0], vni: span.VNI}, d), a, reason)
						}
						send("another peer's container", far.Addrs()[i], "spoofed-inner")
						send("another peer's block", far.Addrs()[i].Next().Next(), "spoofed-inner")
						send("an address that another peer has of our block", span.Lent(subnet), "spoofed-inner")
						send("our own block", a.Addrs()[i].Next().Next(), "spoofed-inner")
						own := datagram{src: span.ThirdAddr(subnet), dst: a.Addrs()[i], ttl: 64, mark: "golden-mark"}
						frame := s.tunnelled(t, tunnel{outer: third.Underlay[0], vni: span.VNI}, own)
						if got := s.one(t, "its own block", a.Netns, "eth0", true, func() { s.LAN.Send(t, "br0", frame) }); got == nil {
							t.Error("what the third host sends from its own block did not come: the test proves nothing")
						}
					}
				})
			}
		})
	}
}
