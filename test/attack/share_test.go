package attack_test

import (
	"context"
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// shareAttacks send more than the limit of the container allows: by frames that nobody counts, it hopes. All of them have to come to the
// bucket, which lets no more than its rate pass, whatever becomes of them then.
func shareAttacks() []attack {
	const tag, double = layers.EthernetTypeDot1Q, layers.EthernetTypeQinQ
	udp := func(s *scene, e *layers.Ethernet, v6 bool, from uint16) []byte {
		src, dst := s.attacker.V4(), s.victim.V4()
		if v6 {
			src, dst = s.attacker.V6(), s.victim.V6()
		}
		e.EthernetType = kindOf(dst)
		return build(append([]gopacket.SerializableLayer{e}, between(src, dst, from, 7000, make([]byte, 400))...)...)
	}
	to := func(s *scene) heddle.MAC {
		if s.mode == bridged {
			return s.victim.Endpoint.MAC
		}
		return s.gateway()
	}
	own := func(s *scene) *layers.Ethernet { return ether(s.attacker.Endpoint.MAC, to(s), ip4) }
	// tagged puts a VLAN tag into a frame (IEEE 802.1Q).
	tagged := func(frame []byte, kind layers.EthernetType, id byte) []byte {
		return append(append(append([]byte{}, frame[:12]...), byte(kind>>8), byte(kind), 0, id), frame[12:]...)
	}
	many := func(frame func(s *scene, i int) []byte) func(s *scene) [][]byte {
		return func(s *scene) [][]byte {
			var all [][]byte
			for i := range flood {
				all = append(all, frame(s, i))
			}
			return all
		}
	}
	all := []attack{
		{name: "many connections, more than its rate", frames: many(func(s *scene, i int) []byte { return udp(s, own(s), i%2 == 0, uint16(1024+i)) })},
		{name: "VLAN tags, more than its rate", frames: many(func(s *scene, i int) []byte {
			frame := tagged(udp(s, own(s), i%2 == 0, 5000), tag, byte(i))
			if i%3 == 0 {
				frame = tagged(frame, double, byte(i))
			}
			return frame
		})},
		{name: "ARP and neighbour discovery, more than its rate", frames: many(func(s *scene, i int) []byte {
			e, dst := own(s), s.attacker.V6()
			if i%2 == 0 {
				return arp(ether(s.attacker.Endpoint.MAC, "ff:ff:ff:ff:ff:ff", layers.EthernetTypeARP), request, s.attacker.Endpoint.MAC, s.attacker.V4(), netip.AddrFrom4([4]byte{198, 18, 0, byte(i)}))
			}
			e.EthernetType = ip6
			return build(e, internet(dst, s.victim.V6(), layers.IPProtocolICMPv6), payload(135, 60))
		})},
		{name: "frames without a packet, and of any kind, more than its rate", frames: many(func(s *scene, i int) []byte {
			return append(append(append([]byte{}, to(s).Bytes()...), s.attacker.Endpoint.MAC.Bytes()...), append([]byte{byte(i), byte(i * 7)}, make([]byte, i%8)...)...)
		})},
		{name: "others' addresses, more than its rate", frames: many(func(s *scene, i int) []byte {
			return udp(s, ether(heddle.MAC("0a:00:00:00:00:99"), to(s), ip4), i%2 == 0, 5000)
		})},
	}
	for i := range all {
		frames := all[i].frames
		all[i].class, all[i].modes = "share", both
		all[i].try = func(t *testing.T, s *scene) bool { return s.passesUncounted(t, frames(s)) }
	}
	return all
}

// payload is a message of that type, and of that length.
func payload(kind byte, length int) gopacket.Payload {
	return append(gopacket.Payload{kind}, make([]byte, length)...)
}

// passesUncounted sends frames from the attacker, who is limited unless the guard is away, and reports whether the bucket has not seen all.
func (s *scene) passesUncounted(t *testing.T, frames [][]byte) bool {
	t.Helper()
	id := s.attacker.Endpoint.ID
	if !s.open {
		limit := func(l heddle.RateLimit) {
			_, _, err := s.w.SetLimits(context.Background(), id, heddle.RateLimitChange{Out: &l}, false)
			cell.Must(t, err)
		}
		limit(heddle.RateLimit{Rate: heddle.LeastRate})
		defer limit(heddle.RateLimit{})
	}
	before, limited := s.bucketed(t, id.ShaperName())
	s.attacker.Send(t, "eth0", frames...)
	return !limited || !within(world.Patience, func() bool {
		after, _ := s.bucketed(t, id.ShaperName())
		return after-before >= uint64(len(frames))
	})
}

// bucketed is how many frames have come to the bucket of a device, if it has one: those that passed, that were dropped and that wait.
func (s *scene) bucketed(t *testing.T, device string) (sum uint64, there bool) {
	t.Helper()
	var all []struct {
		Kind           string
		Packets, Drops uint64
		Waiting        uint64 `json:"qlen"`
	}
	cell.Must(t, json.Unmarshal([]byte(s.w.Host.Sh(t, "tc -s -j qdisc show dev %s 2>/dev/null || echo '[]'", device)), &all))
	for _, q := range all {
		if q.Kind == "tbf" {
			return q.Packets + q.Drops + q.Waiting, true
		}
	}
	return 0, false
}
