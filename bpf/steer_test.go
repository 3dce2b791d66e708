package bpf_test

import (
	"bytes"
	"errors"
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bpf"
	"github.com/heddle-network/heddle/test/cell"
)

// TestSteer: the program takes whole untagged packets to its prefix, with the new
// MAC address and nothing else changed, and leaves all else as it is.
func TestSteer(t *testing.T) {
	cell.Need(t)
	mac, router := heddle.MAC("0a:00:00:00:00:aa"), heddle.MAC("0a:00:00:00:00:bb")
	frame := func(to string, proto string, tags ...gopacket.SerializableLayer) []byte {
		k := talk{from: "10.1.0.2", to: to, proto: proto, size: 64}
		if k.v6 = netip.MustParseAddr(to).Is6(); k.v6 {
			k.from = "fd01::2"
		}
		e := &layers.Ethernet{SrcMAC: podMAC("porta").Bytes(), DstMAC: router.Bytes(), EthernetType: kind(k.v6)}
		if tags != nil {
			e.EthernetType = layers.EthernetTypeDot1Q
		}
		return build(append(append([]gopacket.SerializableLayer{e}, tags...), k.packet()...)...)
	}
	tag := func(v6 bool) gopacket.SerializableLayer { return &layers.Dot1Q{VLANIdentifier: 5, Type: kind(v6)} }
	priority := func(kind layers.EthernetType) gopacket.SerializableLayer {
		return &layers.Dot1Q{Priority: 3, Type: kind}
	}
	const more = layers.EthernetTypeDot1Q
	for _, c := range []struct {
		name, prefix string
		frame        []byte
		taken        bool
	}{
		{"in the prefix", "10.96.0.0/12", frame("10.111.255.255", "udp"), true},
		{"its first address", "10.96.0.0/12", frame("10.96.0.0", "tcp"), true},
		{"past its end", "10.96.0.0/12", frame("10.112.0.0", "udp"), false},
		{"before it", "10.96.0.0/12", frame("10.95.255.255", "udp"), false},
		{"one address", "172.16.0.10/32", frame("172.16.0.10", "echo"), true},
		{"its neighbour", "172.16.0.10/32", frame("172.16.0.11", "echo"), false},
		{"in IPv6's prefix", "fd00:96::/112", frame("fd00:96::ffff", "tcp"), true},
		{"past IPv6's", "fd00:96::/112", frame("fd00:96::1:0", "tcp"), false},
		{"within a word", "fd00:97::/33", frame("fd00:97:7fff::1", "udp"), true},
		{"past it", "fd00:97::/33", frame("fd00:97:8000::1", "udp"), false},
		{"the other family", "10.96.0.0/12", frame("fd00:96::1", "udp"), false},
		{"the other family's prefix", "fd00:96::/112", frame("10.96.0.1", "udp"), false},
		{"tagged", "10.96.0.0/12", frame("10.96.0.1", "udp", tag(false)), false},
		{"tagged IPv6", "fd00:96::/112", frame("fd00:96::1", "udp", tag(true)), false},
		{"tagged with a priority alone", "10.96.0.0/12", frame("10.96.0.1", "udp", priority(kind(false))), true},
		{"so is IPv6", "fd00:96::/112", frame("fd00:96::1", "udp", priority(more), priority(kind(true))), true},
		{"so, and past the prefix", "10.96.0.0/12", frame("10.112.0.0", "udp", priority(kind(false))), false},
		{"tagged within that", "10.96.0.0/12", frame("10.96.0.1", "udp", priority(more), tag(false)), false},
		{"cut short", "10.96.0.0/12", frame("10.96.0.1", "udp")[:14+19], false},
		{"IPv6 cut short", "fd00:96::/112", frame("fd00:96::1", "udp")[:14+39], false},
	} {
		p, err := bpf.Steer(netip.MustParsePrefix(c.prefix), 1, mac.Bytes())
		cell.Must(t, err)
		o := ebpf.RunOptions{Data: c.frame, DataOut: make([]byte, len(c.frame)+256)}
		code, err := p.Run(&o)
		p.Close()
		if len(c.frame) < 14+40 && errors.Is(err, unix.EINVAL) {
			t.Logf("%s: this kernel gives a program no such frame", c.name) // those of Debian do
			continue
		}
		cell.Must(t, err)
		want, out := next, bytes.Clone(c.frame)
		if c.taken {
			want = redirect
			copy(out, mac.Bytes())
		}
		if int(int32(code)) != want || !bytes.Equal(o.DataOut, out) {
			t.Errorf("%s: %d, want %d; the frame is\n%x, want\n%x", c.name, int32(code), want, o.DataOut, out)
		}
	}
}
