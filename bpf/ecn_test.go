package bpf_test

import "testing"

// Codepoints of ECN (RFC 3168, section 5).
const (
	notECT = iota
	ect1
	ect0
	ce
)

// TestECNOut: the outer header gets the inner codepoint, ECT(0) for CE: the kernel
// is an ingress of RFC 3168 (section 9.1.1, full functionality).
func TestECNOut(t *testing.T) {
	r := newRig(t)
	for inner, outer := range map[byte]byte{notECT: notECT, ect1: ect1, ect0: ect0, ce: ect0} {
		for _, to := range []string{"10.1.0.65", "fd01::41", "10.1.0.193", "fd01::c1"} {
			in := input{link: "porta", frame: r.out(talk{from: "porta", to: to, v6: to[0] == 'f', proto: "tcp", size: 100, tos: 0xb8 | inner})}
			v := carried(t, r.judge(in), "sent")
			if got := map[int]byte{front4: v.out[15], front6: v.out[14]<<4 | v.out[15]>>4}[front(v.out)]; got != outer {
				t.Errorf("the model writes TOS %#x for ECN %d inside, to %s", got, inner, to)
			}
			r.try(t, in, v)
		}
	}
}

// TestECNIn is figure 4 of RFC 6040 (section 4.2), by outer and inner codepoint; what
// is to be dropped or to become ECT(1) is left to the stack.
func TestECNIn(t *testing.T) {
	const stack = 0xff
	table := [4][4]byte{
		notECT: {notECT: notECT, ect1: ect1, ect0: ect0, ce: ce},
		ect1:   {notECT: notECT, ect1: ect1, ect0: stack, ce: ce},
		ect0:   {notECT: notECT, ect1: ect1, ect0: ect0, ce: ce},
		ce:     {notECT: stack, ect1: ce, ect0: ce, ce: ce},
	}
	r := newRig(t)
	for outer, row := range table {
		for inner, want := range row {
			for _, k := range []talk{from4, from6, by6(from4), by6(from6)} {
				k.tos = 0xb8 | byte(inner)
				in := input{wire: true, link: "wire0", frame: r.tunnelled(k, k.peer(), byte(outer))}
				if want == stack {
					r.try(t, in, left("porta", "ecn", in.frame))
					continue
				}
				if k.v6 != k.peer().Is6() && r.alike {
					continue
				}
				v := carried(t, r.judge(in), "received")
				if got := v.out[15]; !k.v6 && got != 0xb8|want || k.v6 && got>>4 != 8|want {
					t.Errorf("the model makes %#x of outer %d and inner %d", got, outer, inner)
				}
				r.try(t, in, v)
				sound(t, v.out)
			}
		}
	}
}

// TestSummed: the sum that a NIC has made over a packet stays right; the kernel tells
// the log of NICs whose sums are wrong.
func TestSummed(t *testing.T) {
	r := newRig(t)
	in := input{wire: true, link: "wire0", frame: r.tunnelled(from4, remote, 0), flags: checksumComplete}
	if _, _, err := r.run(in); err != nil {
		t.Skipf("test runs with complete sums came with Linux 6.17: %v", err)
	}
	for _, k := range []talk{from4, from6, by6(from4), by6(from6)} {
		for _, outer := range []byte{notECT, ce} {
			k.tos = ect0
			in.frame = r.tunnelled(k, k.peer(), outer)
			if _, _, err := r.run(in); err != nil {
				t.Errorf("IPv6 %v from %s, outer ECN %d: %v", k.v6, k.peer(), outer, err)
			}
		}
	}
}
