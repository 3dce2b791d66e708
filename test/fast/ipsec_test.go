package fast_test

import (
	"strings"
	"testing"

	"github.com/gopacket/gopacket/layers"

	"github.com/heddle-network/heddle/path"
	"github.com/heddle-network/heddle/test/vm"
	"github.com/heddle-network/heddle/test/world"
)

// TestEncrypted: between hosts whose policies demand ESP in transport mode (RFC 4303)
// containers talk, and nothing of it is seen in clear; without the policies the fast
// path has them again.
func TestEncrypted(t *testing.T) {
	s := newScene(t)
	keys := `auth-trunc 'hmac(sha256)' 0x` + strings.Repeat("5a", 32) + ` 128 enc 'cbc(aes)' 0x` + strings.Repeat("a5", 16)
	for i, h := range s.Hosts {
		peer := s.Hosts[1-i]
		script := `ip xfrm state add src %[1]s dst %[2]s proto esp spi 0x10 mode transport ` + keys + `
			ip xfrm state add src %[2]s dst %[1]s proto esp spi 0x10 mode transport ` + keys
		if out, err := h.TrySh(script, h.Outer(), peer.Outer()); err != nil && !vm.InGuest() {
			t.Skipf("this kernel has no ESP, TestInGuestsSegments has: %v %s", err, out)
		} else if err != nil {
			t.Fatal(err, out)
		}
	}
	talk := func(encrypted bool) {
		t.Helper()
		before := s.carried(t)
		wire := s.LAN.Capture(t, "port0")
		s.asks(t)
		frames := wire.Stop()
		after := s.carried(t)
		clear, hidden := world.Count(frames, inClear), world.Count(frames, inESP)
		if (clear == 0) != encrypted || (hidden > 0) != encrypted {
			t.Errorf("%d frames in clear, %d encrypted", clear, hidden)
		}
		if after["local"] == before["local"] || (after["sent"] == before["sent"]) != encrypted || (after["received"] == before["received"]) != encrypted {
			t.Errorf("carried %v, before %v", after, before)
		}
	}
	talk(false)
	for i, h := range s.Hosts {
		peer := s.Hosts[1-i]
		h.Sh(t, `ip xfrm policy add dir out src %[1]s dst %[2]s proto 17 tmpl src %[1]s dst %[2]s proto esp mode transport
			ip xfrm policy add dir in src %[2]s dst %[1]s proto 17 tmpl src %[2]s dst %[1]s proto esp mode transport`, h.Outer(), peer.Outer())
	}
	s.Heed(t)
	talk(true)
	for _, h := range s.Hosts {
		h.Sh(t, "ip xfrm policy flush")
	}
	s.Heed(t)
	talk(false)
}

func inClear(x world.Frame) bool {
	l, ok := x.Packet().Layer(layers.LayerTypeUDP).(*layers.UDP)
	return ok && l.DstPort == layers.UDPPort(path.Default().Port())
}

func inESP(x world.Frame) bool { return x.Packet().Layer(layers.LayerTypeIPSecESP) != nil }
