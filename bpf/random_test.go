package bpf_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/vm"
)

// dice throws what random packets are made of.
type dice struct{ *rand.Rand }

// newDice takes its seed from HEDDLE_SEED, to throw again what failed.
func newDice(t *testing.T) dice {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("HEDDLE_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("HEDDLE_SEED=%d", seed)
	return dice{rand.New(rand.NewPCG(seed, 0))}
}

// rounds is fewer where the processor is emulated.
func rounds(n int) int {
	if vm.InGuest() {
		return n / 50
	}
	return n
}

func pick[T any](d dice, all ...T) T { return all[d.IntN(len(all))] }

// talk is a packet between addresses that mean something on the rig.
func (d dice) talk() talk {
	k := talk{v6: d.IntN(2) == 0, proto: pick(d, protocols...), ttl: pick[byte](d, 1, 2, 64, 255), tos: byte(d.IntN(256)),
		size: pick(d, 0, d.IntN(100), d.IntN(rigMTU+100))}
	ends := []string{"porta", "portb", "portc", "portd", "porte"}
	k.from, k.to = pick(d, ends...), pick(d, ends...)
	if d.IntN(2) == 0 {
		k.to = pick(d, "10.1.0.65", "10.1.0.72", "10.1.0.127", "10.1.0.5", "10.1.0.1", "10.1.0.60", "10.1.0.129", "10.1.0.193", "10.1.0.255", "203.0.113.9", "10.4.0.1")
		if k.v6 {
			k.to = pick(d, "fd01::41", "fd01::48", "fd01::7f", "fd01::5", "fd01::1", "fd01::30", "fd01::c1", "fd01::ff", "2001:db8::1", "ff02::1")
		}
	}
	return k
}

// input is a packet for one of the programs, nearly right more often than not.
func (d dice) input(r *rig) input {
	k := d.talk()
	in := input{link: pick(d, k.from, k.from, k.from, "portb"), gso: pick(d, 0, 0, 0, 0, 0, 600, 1400)}
	if d.IntN(6) == 0 {
		q := d.question()
		in = input{link: pick(d, q.from, q.from, q.from, "portb"), gso: pick(d, 0, 0, 0, 600), frame: q.frame()}
	} else if d.IntN(2) == 0 {
		if r.index[k.to] == 0 {
			k.from, k.to = k.to, pick(d, "porta", "portb", "portd")
		}
		in = input{wire: true, link: "wire0", gso: in.gso, frame: r.tunnelled(k, pick(d, k.peer(), k.peer(), k.peer(), remote, remote6, dark), byte(d.IntN(4)))}
	} else if to := pick(d, "portb", "porte", k.to); r.index[to] != 0 && d.IntN(4) == 0 {
		in.frame = k.sent(podMAC(to))
	} else {
		in.frame = r.outOrGateway(k)
	}
	d.spoil(&in)
	return in
}

// question is one who asks for a neighbour, or answers, of the rig's endpoints.
func (d dice) question() question {
	coin := func() bool { return d.IntN(2) == 0 }
	return question{from: pick(d, "portd", "portd", "porta", "porte"), to: pick(d, "porte", "porte", "portd", "portb", "portf"), v6: coin(), answers: coin(), direct: coin(), bare: coin()}
}

// outOrGateway is out, to the gateway's address where the other is not on the bridge.
func (r *rig) outOrGateway(k talk) []byte {
	if r.index[k.to] != 0 {
		return r.out(k)
	}
	return k.sent(r.placeOf(k.from).PortMAC)
}

// spoil forges, cuts or extends every other packet.
func (d dice) spoil(in *input) {
	b := in.frame
	switch d.IntN(10) {
	case 0:
		b[d.IntN(len(b))] ^= 1 << d.IntN(8)
	case 1, 2: // a header
		i := d.IntN(min(len(b), 14+40+20))
		if in.wire && d.IntN(2) == 0 {
			i = d.IntN(min(len(b), front(b)+60))
		}
		b[i] = byte(d.IntN(256))
	case 3:
		in.frame = b[:14+d.IntN(len(b)-13)]
	case 4:
		in.frame = append(b, make([]byte, 1+d.IntN(50))...)
	case 5:
		for i := 14 + d.IntN(len(b)-13); i < len(b); i++ {
			b[i] = byte(d.IntN(256))
		}
	}
}

// tooShort reports a packet that no test run takes: one of IP with less than a
// header.
func tooShort(b []byte) bool {
	kind := binary.BigEndian.Uint16(b[12:])
	return len(b) < 14+20 && kind == 0x0800 || len(b) < 14+40 && kind == 0x86dd
}

// TestModel: the programs do with random packets what the model does, packet by
// packet, counters too.
func TestModel(t *testing.T) {
	r, d := newRig(t), newDice(t)
	for range rounds(5000) {
		in := d.input(r)
		if tooShort(in.frame) {
			continue
		}
		r.try(t, in, r.judge(in))
		if t.Failed() {
			t.Fatalf("%+v", in.link)
		}
	}
	t.Log(r.counted(t))
}

// TestForged: of 100,000 forged, cut and random frames none is carried unless the
// model says so, and the counters add up.
func TestForged(t *testing.T) {
	r, d := newRig(t), newDice(t)
	want, carried := map[string]uint64{}, 0
	for range rounds(100_000) {
		in := d.forged(r)
		if tooShort(in.frame) {
			in.frame = append(in.frame, make([]byte, 40)...)
		}
		v := r.judge(in)
		code, out, err := r.run(in)
		cell.Must(t, err)
		if fault := compare(v, code, out); fault != "" {
			t.Fatalf("%s\nof % x at %s", fault, in.frame, in.link)
		}
		if v.path != "" {
			carried++
		}
		v.count(want)
	}
	if got := r.counted(t); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("counted\n%v, want\n%v", got, want)
	}
	t.Logf("%d carried: %v", carried, want)
}

// forged is a random packet of a random kind.
func (d dice) forged(r *rig) input {
	if d.IntN(4) != 0 {
		in := d.input(r)
		d.spoil(&in)
		in.gso = 0
		return in
	}
	b := make([]byte, 14+d.IntN(200))
	for i := range b {
		b[i] = byte(d.IntN(256))
	}
	if d.IntN(2) == 0 {
		k := pick(d, from4, by6(from4))
		copy(b, r.tunnelled(k, k.peer(), 0)[:d.IntN(front4)])
		return input{wire: true, link: "wire0", frame: b}
	}
	copy(b, r.out(near4)[:min(len(b), d.IntN(54))])
	return input{link: "porta", frame: b}
}
