package bpf_test

import (
	"cmp"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/heddle-network/heddle"
)

// broadcast is the address of all.
const broadcast = heddle.MAC("ff:ff:ff:ff:ff:ff")

// question is a frame that asks for the MAC address of an endpoint, or answers.
type question struct {
	from, to string // endpoints' links, or an address
	v6       bool
	answers  bool
	direct   bool   // to one, not to all
	bare     bool   // IPv6: without an option
	link     string // where it arrives; "": at its own
	gso      int
}

func (q question) frame() []byte {
	src, dst := addrOf(q.from, q.v6), addrOf(q.to, q.v6)
	own := podMAC(q.from)
	to := heddle.MAC("0a:0b:0c:0d:0e:0f")
	if len(q.to) == len("porta") {
		to = podMAC(q.to)
	}
	if !q.v6 {
		a := &layers.ARP{AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4, Operation: layers.ARPRequest,
			SourceHwAddress: own.Bytes(), SourceProtAddress: src.AsSlice(), DstHwAddress: make([]byte, 6), DstProtAddress: dst.AsSlice()}
		if q.answers {
			a.Operation, a.DstHwAddress = layers.ARPReply, to.Bytes()
		}
		if !q.answers && !q.direct {
			to = broadcast
		}
		return unpadded(build(&layers.Ethernet{SrcMAC: own.Bytes(), DstMAC: to.Bytes(), EthernetType: layers.EthernetTypeARP}, a), 14+28)
	}
	six := &layers.IPv6{Version: 6, HopLimit: 255, NextHeader: layers.IPProtocolICMPv6, SrcIP: src.AsSlice(), DstIP: dst.AsSlice()}
	head := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypeNeighborSolicitation, 0)}
	head.SetNetworkLayerForChecksum(six)
	option := layers.ICMPv6Options{{Type: layers.ICMPv6OptSourceAddress, Data: own.Bytes()}}
	if q.bare {
		option = nil
	}
	var rest gopacket.SerializableLayer = &layers.ICMPv6NeighborSolicitation{TargetAddress: dst.AsSlice(), Options: option}
	if q.answers {
		head.TypeCode = layers.CreateICMPv6TypeCode(layers.ICMPv6TypeNeighborAdvertisement, 0)
		if !q.bare {
			option[0].Type = layers.ICMPv6OptTargetAddress
		}
		rest = &layers.ICMPv6NeighborAdvertisement{Flags: 0x60, TargetAddress: src.AsSlice(), Options: option}
	} else if !q.direct {
		last := dst.As16()
		copy(six.DstIP, []byte{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, last[13], last[14], last[15]})
		to = mac([]byte{0x33, 0x33, 0xff, last[13], last[14], last[15]})
	}
	return build(&layers.Ethernet{SrcMAC: own.Bytes(), DstMAC: to.Bytes(), EthernetType: layers.EthernetTypeIPv6}, six, head, rest)
}

// TestNeighbours: on a bridge, what asks for a neighbour and what answers goes straight to the one whom it is about; all else is left
// to the stack, which has the rules for it.
func TestNeighbours(t *testing.T) {
	r := newRig(t)
	for _, v6 := range []bool{false, true} {
		asks := question{from: "portd", to: "porte", v6: v6}
		for name, x := range map[string]struct {
			change func(*question)
			spoil  func([]byte) []byte
			handed bool
		}{
			"asks all":               {handed: true},
			"asks one":               {change: func(q *question) { q.direct = true }, handed: true},
			"answers":                {change: func(q *question) { q.answers = true }, handed: true},
			"asks for itself":        {change: func(q *question) { q.to = "portd" }},
			"asks for another's":     {change: func(q *question) { q.to = "portb" }},
			"asks for nobody":        {change: func(q *question) { q.to = map[bool]string{false: "10.3.0.9", true: "fd03::9"}[v6] }},
			"on another bridge":      {change: func(q *question) { q.to = "portf" }},
			"asks one elsewhere":     {change: func(q *question) { q.to, q.direct = "portf", true }},
			"by another's port":      {change: func(q *question) { q.link = "porte" }},
			"an aggregate":           {change: func(q *question) { q.gso = 600 }},
			"bare":                   {change: func(q *question) { q.bare = true }, handed: true},
			"not on a bridge":        {change: func(q *question) { q.from, q.to = "porta", "portb" }},
			"another's MAC address":  {spoil: func(b []byte) []byte { b[6] ^= 2; return b }},
			"to another MAC address": {change: func(q *question) { q.direct = true }, spoil: func(b []byte) []byte { b[5] ^= 1; return b }},
			"an answer to all": {change: func(q *question) { q.answers = true }, spoil: func(b []byte) []byte {
				copy(b, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
				if v6 {
					copy(b, []byte{0x33, 0x33, 0xff})
				}
				return b
			}},
			"says another's MAC address": {spoil: func(b []byte) []byte { b[map[bool]int{false: 14 + 8, true: 14 + 66}[v6]] ^= 2; return b }},
			"says another's address":     {change: func(q *question) { q.answers = true }, spoil: func(b []byte) []byte { b[map[bool]int{false: 14 + 17, true: 14 + 63}[v6]]++; return b }},
		} {
			q := asks
			if x.change != nil {
				x.change(&q)
			}
			in := input{link: cmp.Or(q.link, q.from), gso: q.gso, frame: q.frame()}
			if x.spoil != nil {
				in.frame = x.spoil(in.frame)
			}
			v := r.judge(in)
			if (v.path == "local") != x.handed {
				t.Errorf("%s, IPv6 %v: the model says %+v", name, v6, v)
			}
			r.try(t, in, v)
		}
	}
}

// TestNeighbourFields: a frame with any one field other than it must be is left to the stack.
func TestNeighbourFields(t *testing.T) {
	r := newRig(t)
	type field struct {
		at    int // behind the Ethernet header
		value byte
	}
	of := func(q question, fields map[string]field) {
		for name, f := range fields {
			b := q.frame()
			if v := r.judge(input{link: q.from, frame: b}); v.path != "local" {
				t.Fatalf("the whole frame is %+v", v)
			}
			b[14+f.at] = f.value
			v := r.judge(input{link: q.from, frame: b})
			if v.path != "" {
				t.Errorf("%s: the model says %+v", name, v)
			}
			r.try(t, input{link: q.from, frame: b}, v)
		}
	}
	of(question{from: "portd", to: "porte"}, map[string]field{"hardware": {1, 6}, "protocol": {2, 9}, "hardware's length": {4, 8}, "protocol's length": {5, 16},
		"operation 3": {7, 3}, "operation 257": {6, 1}, "another's address": {17, 3}})
	nd := map[string]field{"version": {0, 0x50}, "next header": {6, 0}, "hop limit": {7, 254}, "code": {41, 1}, "length": {5, 33}, "type": {40, 133},
		"another's address": {23, 3}, "kind of option": {64, 3}, "length of the option": {65, 2}}
	of(question{from: "portd", to: "porte", v6: true}, nd)
	of(question{from: "portd", to: "porte", v6: true, answers: true}, nd)
	long := append(question{from: "portd", to: "porte"}.frame(), make([]byte, rigMTU)...)
	r.try(t, input{link: "portd", frame: long}, left("", "protocol", long))
	second := question{from: "portd", to: "porte", v6: true}.frame()
	second = append(second, second[14+64:]...)
	second[14+5] += 8
	r.try(t, input{link: "portd", frame: second}, left("", "protocol", second))
}
