package bpf_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/heddle-network/heddle"
)

// reasonCase is a packet that must be left to the stack, as it is. Those of vlans
// and of forwarded aggregates are sent by wire in test/fast: a test run has no such
// packets.
type reasonCase struct {
	name, reason, who string
	in                func(r *rig) input
}

// changed is a frame out of porta with something in it changed.
func changed(k talk, change func(b []byte)) func(r *rig) input {
	return func(r *rig) input {
		b := r.out(k)
		change(b)
		return input{link: k.from, frame: b}
	}
}

// received is a frame from the wire with something in it changed.
func received(k talk, tos byte, change func(b []byte)) func(r *rig) input {
	return func(r *rig) input {
		b := r.tunnelled(k, k.peer(), tos)
		change(b)
		return input{wire: true, link: "wire0", frame: b}
	}
}

func same([]byte) {}

// set writes bytes into a frame.
func set(at int, bytes ...byte) func([]byte) {
	return func(b []byte) { copy(b[at:], bytes) }
}

// otherMAC changes the receiver's MAC address, whatever it was.
func otherMAC(b []byte) { b[5] ^= 0xff }

var (
	near4 = talk{from: "porta", to: "portb", proto: "tcp", size: 20}
	near6 = talk{from: "porta", to: "portb", v6: true, proto: "udp", size: 20}
	far4  = talk{from: "porta", to: "10.1.0.70", proto: "udp", size: 20}
	from4 = talk{from: "10.1.0.70", to: "porta", proto: "tcp", size: 20}
	from6 = talk{from: "fd01::41", to: "porta", v6: true, proto: "echo", size: 20}
)

func (k talk) with(change func(*talk)) talk {
	change(&k)
	return k
}

var reasonCases = []reasonCase{
	{"ARP", "protocol", "", changed(near4, set(12, 8, 6))},
	{"DHCP", "protocol", "", changed(far4, set(36, 0, 67))},
	{"DHCPv6", "protocol", "", changed(near6, set(56, 2, 35))},
	{"SCTP", "protocol", "", changed(far4, set(23, 132))},
	{"ICMPv6 in IPv4", "protocol", "", changed(far4, set(23, 58))},
	{"ICMP unreachable", "protocol", "", changed(near4.with(func(k *talk) { k.proto = "echo" }), set(34, 3))},
	{"neighbour solicitation", "protocol", "", changed(near6.with(func(k *talk) { k.proto = "echo" }), set(54, 135))},
	{"IPv4 options", "options", "", changed(near4, set(14, 0x46))},
	{"IPv6 extension header", "options", "", changed(near6, set(20, 0))},
	{"IPv6 no next header", "options", "", changed(near6, set(20, 59))},
	{"first IPv4 fragment", "fragment", "", changed(near4, set(20, 0x20))},
	{"last IPv4 fragment", "fragment", "", changed(near4, set(20, 0, 9))},
	{"evil bit", "fragment", "", changed(near4, set(20, 0x80))},
	{"IPv6 fragment", "fragment", "", changed(near6, set(20, 44))},
	{"longer than its header says", "length", "porta", changed(near4, set(16, 0, 59))},
	{"shorter than its header says", "length", "porta", changed(near6, set(18, 0, 200))},
	{"cut in the TCP header", "length", "", func(r *rig) input { return input{link: "porta", frame: r.out(near4)[:14+39]} }},
	{"cut in the UDP header", "length", "", func(r *rig) input { return input{link: "porta", frame: r.out(near6)[:14+47]} }},
	{"TTL 1", "ttl", "porta", changed(near4.with(func(k *talk) { k.ttl = 1 }), same)},
	{"hop limit 1 to a peer", "ttl", "porta", changed(far4.with(func(k *talk) { k.ttl = 1 }), same)},
	{"TTL 0", "ttl", "porta", changed(near4, set(22, 0))},
	{"another's address", "source", "", changed(near4, set(26, 10, 1, 0, 3))},
	{"nobody's address", "source", "", changed(near4, set(26, 10, 1, 0, 9))},
	{"another MAC address", "source", "", changed(near4, set(6, 2))},
	{"the right address at another port", "source", "", func(r *rig) input { return input{link: "portb", frame: r.out(near4)} }},
	{"the outside", "destination", "porta", changed(far4, set(30, 203, 0, 113, 9))},
	{"the gateway", "destination", "porta", changed(far4, set(30, 10, 1, 0, 1))},
	{"the gateway's IPv6", "destination", "porta", changed(near6, set(53, 1))},
	{"left to the stack, in a peer's block", "destination", "porta", changed(far4, set(30, 10, 1, 0, 72))},
	{"our own block", "destination", "porta", changed(far4, set(30, 10, 1, 0, 60))},
	{"itself", "destination", "porta", changed(near4.with(func(k *talk) { k.to = "porta" }), same)},
	{"itself, on a bridge", "destination", "portd", changed(near6.with(func(k *talk) { k.from, k.to = "portd", "portd" }), same)},
	{"multicast", "destination", "porta", changed(far4, set(30, 224, 0, 0, 251))},
	{"another network", "network", "porta", changed(near4.with(func(k *talk) { k.to = "portc" }), same)},
	{"another network, IPv6", "network", "porta", changed(near6.with(func(k *talk) { k.to = "portd" }), same)},
	{"not to the gateway's MAC address", "link", "porta", changed(near4, otherMAC)},
	{"on a bridge, to another MAC address", "link", "portd", changed(near4.with(func(k *talk) { k.from = "portd"; k.to = "porte" }), otherMAC)},
	{"to a peer, not to the gateway's MAC address", "link", "porta", changed(far4, otherMAC)},
	{"over the MTU", "mtu", "porta", changed(near4.with(func(k *talk) { k.size = rigMTU - 39 }), same)},
	{"over the peer's MTU", "mtu", "porta", changed(far4.with(func(k *talk) { k.size = rigMTU - 27 }), same)},
	{"segments over the MTU", "mtu", "porta", func(r *rig) input {
		return input{link: "porta", gso: rigMTU - 39, frame: r.out(near4.with(func(k *talk) { k.size = 3000 }))}
	}},
	{"a peer without a neighbour", "neighbour", "porta", changed(far4, set(30, 10, 1, 0, 130))},
	{"an aggregate of unknown kind", "kernel", "porta", func(r *rig) input { return input{link: "porta", gso: 1000, frame: r.out(far4)} }},
	{"a tunnelled aggregate of unknown kind", "kernel", "porta", func(r *rig) input {
		return input{wire: true, link: "wire0", gso: 1000, frame: r.tunnelled(from4, remote, 0)}
	}},
	{"from the wire: ARP inside", "protocol", "", received(from4, 0, set(62, 8, 6))},
	{"from the wire: a container's, with the interface's MAC address", "link", "", received(from4, 0, func(b []byte) { copy(b[6:12], b[:6]) })},
	{"from the wire: options inside", "options", "", received(from4, 0, set(64, 0x46))},
	{"from the wire: a fragment inside", "fragment", "", received(from4, 0, set(70, 0x20))},
	{"from the wire: inner length", "length", "", received(from4, 0, set(66, 0, 59))},
	{"from the wire: outer length", "length", "", received(from4, 0, set(16, 0, 59))},
	{"from the wire: UDP length", "length", "", received(from4, 0, set(38, 0, 59))},
	{"from the wire: TTL 1", "ttl", "porta", received(from6.with(func(k *talk) { k.ttl = 1 }), 0, same)},
	{"from the wire: to nobody", "destination", "", received(from4, 0, set(83, 60))},
	{"from the wire: to the gateway", "destination", "", received(from4, 0, set(83, 1))},
	{"from the wire: to a bridge", "destination", "", received(from4.with(func(k *talk) { k.to = "portd" }), 0, same)},
	{"from the wire: to a peer", "destination", "", received(from4, 0, set(83, 71))},
	{"from the wire: another inner MAC address", "link", "", received(from4, 0, set(50, 2))},
	{"from the wire: an outer checksum", "link", "", received(from4, 0, set(40, 1))},
	{"from the wire: from a port that users have", "peer", "porta", received(from4, 0, set(34, 0x9c, 0x40))},
	{"over IPv6: from a port that users have", "peer", "porta", func(r *rig) input {
		b := r.tunnelled(by6(from6), remote6, 0)
		set(54, 4, 0)(b)
		return input{wire: true, link: "wire0", frame: b}
	}},
	{"from the wire: our own block inside", "peer", "porta", received(from4, 0, set(79, 60))},
	{"from the wire: our own endpoint inside", "peer", "porta", received(from4.with(func(k *talk) { k.from = "portb" }), 0, same)},
	{"from the wire: our gateway inside", "peer", "porta", received(from4, 0, set(79, 1))},
	{"from the wire: left to the stack, in the peer's block", "peer", "porta", received(from4, 0, set(79, 72))},
	{"from the wire: another peer's inside", "peer", "porta", received(from4, 0, set(79, 130))},
	{"from the wire: another network's inside", "peer", "portc", received(from4.with(func(k *talk) { k.to = "portc" }), 0, same)},
	{"from the wire: a stranger", "peer", "porta", func(r *rig) input {
		return input{wire: true, link: "wire0", frame: r.tunnelled(from4, local.Next().Next(), 0)}
	}},
	{"from the wire: over the MTU", "mtu", "porta", received(from4.with(func(k *talk) { k.size = rigMTU - 39 }), 0, same)},
	{"from the wire: marked, but not capable", "ecn", "porta", received(from4, 3, same)},
	{"over IPv6: options inside", "options", "", received(by6(from4), 0, set(84, 0x46))},
	{"over IPv6: inner length", "length", "", received(by6(from4), 0, set(86, 0, 59))},
	{"over IPv6: outer length", "length", "", received(by6(from4), 0, set(18, 0, 59))},
	{"over IPv6: UDP length", "length", "", received(by6(from6), 0, set(58, 0, 59))},
	{"over IPv6: an outer checksum", "link", "", received(by6(from6), 0, set(60, 1))},
	{"over IPv6: another inner MAC address", "link", "", received(by6(from4), 0, set(70, 2))},
	{"over IPv6: to nobody", "destination", "", received(by6(from4), 0, set(103, 60))},
	{"over IPv6: another peer's inside", "peer", "porta", func(r *rig) input { return input{wire: true, link: "wire0", frame: r.tunnelled(from4, remote6, 0)} }},
	{"over IPv4: another peer's inside", "peer", "porta", func(r *rig) input { return input{wire: true, link: "wire0", frame: r.tunnelled(by6(from6), remote, 0)} }},
	{"over IPv6: a stranger", "peer", "porta", func(r *rig) input {
		return input{wire: true, link: "wire0", frame: r.tunnelled(by6(from4), remote6.Next(), 0)}
	}},
	{"over IPv6: marked, but not capable", "ecn", "porta", received(by6(from6), 3, same)},
	// not ours at all, and so not counted
	{"wire over IPv6: another VNI", "", "", received(by6(from4), 0, set(68, 1))},
	{"wire over IPv6: another port", "", "", received(by6(from4), 0, set(56, 0, 53))},
	{"wire over IPv6: another host", "", "", received(by6(from4), 0, set(53, 7))},
	{"wire over IPv6: an extension header", "", "", received(by6(from4), 0, set(20, 60))},
	{"wire over IPv6: a fragment", "", "", received(by6(from4), 0, set(20, 44))},
	{"wire: another VNI", "", "", received(from4, 0, set(48, 1))},
	{"wire: VXLAN with other flags", "", "", received(from4, 0, set(42, 0x88))},
	{"wire: another port", "", "", received(from4, 0, set(36, 0, 53))},
	{"wire: another host", "", "", received(from4, 0, set(33, 7))},
	{"wire: TCP", "", "", received(from4, 0, set(23, 6))},
	{"wire: outer options", "", "", received(from4, 0, set(14, 0x46))},
	{"wire: an outer fragment", "", "", received(from4, 0, set(20, 0x20))},
	{"wire: another MAC address", "", "", received(from4, 0, otherMAC)},
	{"wire: IPv6", "", "", received(from4, 0, set(12, 0x86, 0xdd))},
	{"wire: an empty tunnel", "", "", func(r *rig) input {
		return input{wire: true, link: "wire0", frame: r.tunnelled(from4, remote, 0)[:60]}
	}},
}

// TestReasons: what the programs do not know for certain they leave as it is, and
// count why.
func TestReasons(t *testing.T) {
	r := newRig(t)
	seen := []string{"forwarded"} // see test/fast
	for _, c := range reasonCases {
		t.Run(c.name, func(t *testing.T) {
			in := c.in(r)
			in.frame = bytes.Clone(in.frame)
			r.try(t, in, verdict{code: next, miss: c.reason, who: c.who, out: in.frame})
			if v := r.judge(in); v.miss != c.reason || v.who != c.who {
				t.Errorf("the model says %q of %q", v.miss, v.who)
			}
		})
		seen = append(seen, c.reason)
	}
	for _, reason := range heddle.FastMisses {
		if !slices.Contains(seen, reason) {
			t.Errorf("no packet is left for the reason %s", reason)
		}
	}
}

// TestPeerElsewhere: a peer's packets are taken by the interface that leads to it, and
// by no other.
func TestPeerElsewhere(t *testing.T) {
	r := newRig(t)
	frame := r.tunnelled(from4, remote, 0)
	copy(frame, r.find(t, "portd").HardwareAddr)
	r.try(t, input{wire: true, link: "portd", frame: frame}, verdict{code: next, miss: "peer", who: "porta", out: frame})
}

// TestFull: packets that fill the MTU to the byte are carried.
func TestFull(t *testing.T) {
	r := newRig(t)
	full := func(k talk, headers int) talk { return k.with(func(k *talk) { k.size = rigMTU - headers }) }
	r.carries(t, input{link: "porta", frame: r.out(full(near4, 40))}, "local")
	r.carries(t, input{link: "porta", frame: r.out(full(near6, 48))}, "local")
	r.carries(t, input{link: "porta", frame: r.out(full(far4, 28))}, "sent")
	r.carries(t, input{wire: true, link: "wire0", frame: r.tunnelled(full(from4, 40), remote, 0)}, "received")
	r.carries(t, input{link: "porta", gso: rigMTU - 40, frame: r.out(full(near4, 40).with(func(k *talk) { k.size = 3000 }))}, "local")
}

// TestPadded: an Ethernet frame that was filled up to its least size is left to the
// stack, which cuts it.
func TestPadded(t *testing.T) {
	r := newRig(t)
	k := near4.with(func(k *talk) { k.proto, k.size = "udp", 2 })
	b := append(r.out(k), make([]byte, 16)...)
	if binary.BigEndian.Uint16(b[16:]) != 30 {
		t.Fatal("not the packet that it should be")
	}
	r.try(t, input{link: "porta", frame: b}, left("porta", "length", b))
}
