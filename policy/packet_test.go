package policy

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// Packets of two endpoints. What is behind the addresses is given.
func v4(piece uint16, protocol byte, rest ...byte) []byte {
	b := []byte{0x45, 0, 0, byte(20 + len(rest)), 0, 1, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2}
	binary.BigEndian.PutUint16(b[6:], piece)
	return append(b, rest...)
}

func v6(next byte, rest ...byte) []byte {
	src, dst := netip.MustParseAddr("fd00::1").As16(), netip.MustParseAddr("fd00::2").As16()
	return slices.Concat([]byte{0x60, 0, 0, 0, 0, byte(len(rest)), next, 64}, src[:], dst[:], rest)
}

// piece6 is the header of a fragment, before what it holds.
func piece6(next byte, offset uint16, rest ...byte) []byte {
	return append(append([]byte{next, 0}, append(binary.BigEndian.AppendUint16(nil, offset), 0, 0, 0, 9)...), rest...)
}

var toWeb = []byte{0x0f, 0xa0, 0, 80, 0, 8, 0, 0} // from port 4000 to port 80

// packets are refused ones, and how they are told.
var packets = []struct {
	ether uint16
	data  []byte
	told  string
}{
	{etherIPv4, v4(0, 17, toWeb...), "ingress udp 10.0.0.1:4000 to 10.0.0.2:80, 28 bytes: rule 1 of policy web"},
	{etherIPv6, v6(6, toWeb...), "ingress tcp [fd00::1]:4000 to [fd00::2]:80, 48 bytes: no rule of web allows it"},
	{etherIPv4, v4(0x2000, 17, toWeb...), "ingress udp 10.0.0.1:4000 to 10.0.0.2:80, 28 bytes: rule 1 of policy web"}, // the first piece has the ports
	{etherIPv4, v4(0x2000, 17, toWeb[:3]...), "ingress udp 10.0.0.1 to 10.0.0.2, 23 bytes: no rule of web allows it"},
	{etherIPv4, v4(0x2001, 17, toWeb...), "ingress udp 10.0.0.1 to 10.0.0.2, 28 bytes: " + laterPiece},
	{etherIPv4, v4(0x1fff, 1, 8), "ingress icmp 10.0.0.1 to 10.0.0.2, 21 bytes: " + laterPiece},
	{etherIPv6, v6(44, piece6(17, 1, toWeb...)...), "ingress udp [fd00::1]:4000 to [fd00::2]:80, 56 bytes: rule 1 of policy web"},
	{etherIPv6, v6(44, piece6(17, 8, toWeb...)...), "ingress udp fd00::1 to fd00::2, 56 bytes: " + laterPiece},
	{etherIPv6, v6(44, piece6(17, 9, toWeb...)...), "ingress udp fd00::1 to fd00::2, 56 bytes: " + laterPiece},
	{etherIPv6, v6(44, piece6(44, 1, piece6(17, 0, toWeb...)...)...), "ingress 44 fd00::1 to fd00::2, 64 bytes: " + odd},
	{etherIPv6, v6(44, 17, 0, 0), "ingress 44 fd00::1 to fd00::2, 43 bytes: " + odd}, // cut in the fragment's header
	{etherIPv6, v6(43, toWeb...), "ingress 43 fd00::1 to fd00::2, 48 bytes: " + odd},
	{etherIPv4, append([]byte{0x46}, v4(0, 17, append([]byte{1, 1, 1, 0}, toWeb...)...)[1:]...), "ingress udp 10.0.0.1 to 10.0.0.2, 32 bytes: " + odd},
	{etherIPv4, v4(0, 1, 8), "ingress icmp/echo-request 10.0.0.1 to 10.0.0.2, 21 bytes: no rule of web allows it"},
	{etherIPv6, v6(58, 1), "ingress icmp/1 fd00::1 to fd00::2, 41 bytes: " + strayError},
	{etherIPv4, v4(0, 17)[:19], "ingress 0x0800: " + cutShort},
	{etherIPv6, v6(17)[:39], "ingress 0x86dd: " + cutShort},
	{0x88cc, v4(0, 17, toWeb...), "ingress 0x88cc: " + notIP},
	// tagged, once and twice: what is behind a tag is no IP to the rules
	{0x8100, append([]byte{0, 7, 8, 0}, v4(0, 17, toWeb...)...), "ingress 0x8100: " + notIP},
	{0x88a8, append([]byte{0x20, 9, 0x81, 0, 0, 7, 0x86, 0xdd}, v6(17, toWeb...)...), "ingress 0x88a8: " + notIP},
	{0x8100, append([]byte{0, 9, 0x81, 0, 0, 7, 8, 0}, v4(0, 17, toWeb...)...), "ingress 0x8100: " + notIP},
	{0x8100, []byte{1}, "ingress 0x8100: " + notIP},
}

func refusedBy(ether uint16, data []byte) string {
	all := Policies{"web": {Name: "web", Endpoints: Selector{Names: []string{"web"}}, Rules: []Rule{
		{Direction: Ingress, Action: Deny, Protocol: "udp", Ports: []string{"80"}}}}}
	m := Member{Name: "web"}
	return NewRefusals(all, []Member{m}).Flow(m, Ingress, ether, data).String()
}

// TestPackets: each is told as far as the rules look at it.
func TestPackets(t *testing.T) {
	for _, p := range packets {
		if told := refusedBy(p.ether, p.data); told != p.told {
			t.Errorf("% x is told as\n%s, and not as\n%s", p.data, told, p.told)
		}
	}
}

// FuzzPackets: whatever bytes are refused, they are told in words without control characters.
func FuzzPackets(f *testing.F) {
	for _, p := range packets {
		for n := range len(p.data) + 1 {
			f.Add(p.ether, p.data[:n])
		}
	}
	f.Fuzz(func(t *testing.T, ether uint16, data []byte) {
		for _, r := range refusedBy(ether, data) {
			if r > unicode.MaxASCII || !unicode.IsPrint(r) {
				t.Fatalf("% x is told as %q", data, refusedBy(ether, data))
			}
		}
	})
}

// TestRefusals: what is kept of policies that were read says the same as policies that are read anew, of every endpoint and direction.
func TestRefusals(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all, members := Policies{}, drawMembers(rt)
		for range rapid.IntRange(1, 3).Draw(rt, "policies") {
			p := drawPolicy(rt)
			all[p.Name] = p
		}
		kept := NewRefusals(all, members)
		for range 2 {
			for _, m := range members {
				for _, d := range []Direction{Ingress, Egress} {
					told := func(r *Refusals) string {
						f := r.Flow(m, d, etherIPv4, v4(0, 17, toWeb...))
						return fmt.Sprint(f, f.Policies, f.Policy, f.Rule)
					}
					if got, want := told(kept), told(NewRefusals(all, members)); got != want {
						rt.Fatalf("of %s: %s, and not %s", m.ID, got, want)
					}
				}
			}
		}
	})
}

// TestRefusalsKept: of more rules than may be kept those are forgotten that were read before.
func TestRefusalsKept(t *testing.T) {
	all, rules := Policies{}, make([]Rule, maxKept/3)
	for i := range rules {
		rules[i] = Rule{Direction: Ingress, Action: Deny, Protocol: "tcp"}
	}
	var members []Member
	for i := range 8 {
		name := fmt.Sprint("p", i)
		all[name] = Policy{Name: name, Endpoints: Selector{Names: []string{name}}, Rules: rules}
		members = append(members, Member{Name: name})
	}
	r := NewRefusals(all, members)
	for _, m := range members {
		r.Flow(m, Ingress, etherIPv4, v4(0, 17, toWeb...))
		n := 0
		for _, c := range r.read {
			n += len(c.rules)
		}
		if n > maxKept || n != r.kept {
			t.Errorf("%d rules are kept, counted are %d", n, r.kept)
		}
	}
}
