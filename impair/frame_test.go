package impair

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"
)

// The decision about a frame depends on the seed, the direction and its number alone, not on the
// other impairments.
func TestDice(t *testing.T) {
	lost := func(i Impairment, stream uint64) (all []int) {
		d := newDecider(i, stream)
		for n := range 1000 {
			if d.decide().lose {
				all = append(all, n)
			}
		}
		return all
	}
	base := lost(Impairment{Loss: 0.1, Seed: 3}, 1)
	if n := len(base); n < 60 || n > 140 {
		t.Errorf("10 %% of 1000 are %d", n)
	}
	more := lost(Impairment{Loss: 0.1, Seed: 3, Duplicate: 0.5, Corrupt: 0.5, Delay: time.Second, Jitter: time.Second}, 1)
	if !slices.Equal(base, more) || slices.Equal(base, lost(Impairment{Loss: 0.1, Seed: 3}, 2)) || slices.Equal(base, lost(Impairment{Loss: 0.1, Seed: 4}, 1)) {
		t.Error("other things decide about loss too, or direction and seed do not")
	}
}

// The words are those of the flags of a lab's faults, and all of them.
func TestWords(t *testing.T) {
	all := Impairment{Loss: 0.005, Duplicate: 0.01, Reorder: 0.02, Corrupt: 0.03, Delay: time.Second, Jitter: time.Millisecond, Seed: 7, SpoilChecksums: true}
	if got, want := all.String(), "delay 1s, jitter 1ms, loss 0.5%, duplicate 1%, reorder 2%, corrupt 3%, spoil-checksums"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
	if got := (Impairment{Seed: 7}).String(); got != "" {
		t.Errorf("nothing is impaired: %q", got)
	}
}

func TestQueue(t *testing.T) {
	q, at := newQueue(), time.Now().Add(-time.Hour)
	q.put([]byte("1"), at, 20*time.Millisecond, false)
	q.put([]byte("late"), at, 20*time.Millisecond, true)
	q.put([]byte("2"), at, time.Millisecond, false) // jitter changes no order
	q.put([]byte("3"), at, 0, false)
	var got []string
	for range 4 {
		f, _ := q.take()
		got = append(got, string(f.data))
	}
	if !slices.Equal(got, []string{"1", "2", "3", "late"}) {
		t.Errorf("%v", got)
	}
	for range maxQueue {
		if !q.put(nil, at, 0, false) {
			t.Fatal("full too soon")
		}
	}
	if q.put(nil, at, 0, false) {
		t.Error("the queue has no bound")
	}
}

// The example of RFC 1071, and a frame whose checksum is left to the NIC.
func TestChecksum(t *testing.T) {
	if got := ^checksum([]byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}); got != 0xddf2 {
		t.Errorf("%#x", got)
	}
	frame := make([]byte, HeaderSize+etherHeader+20+8+5)
	frame[atFlags] = needsChecksumFlag
	binary.NativeEndian.PutUint16(frame[atSumStart:], etherHeader+20)
	binary.NativeEndian.PutUint16(frame[atSumOffset:], 6)
	udp := frame[HeaderSize+etherHeader+20:]
	copy(udp, []byte{0x10, 0x00, 0x20, 0x00, 0x00, 0x0d, 0x12, 0x34, 'h', 'e', 'l', 'l', 'o'})
	tagged := RestoreVLAN(slices.Clone(frame), 0x8100, 7)
	for name, b := range map[string][]byte{"plain": frame, "tagged": tagged} {
		if !needsChecksum(b) {
			t.Error(name, "passes for finished")
		}
		completeChecksum(b, false)
		part := b[len(b)-13:]
		sum := binary.BigEndian.Uint16(part[6:])
		binary.BigEndian.PutUint16(part[6:], 0x1234)
		if needsChecksum(b) || sum != checksum(part) {
			t.Errorf("%s: checksum %#x", name, sum)
		}
	}
	if got := binary.BigEndian.Uint32(tagged[HeaderSize+macs:]); got != 0x81000007 {
		t.Errorf("tag %#x", got)
	}
}

func TestFlip(t *testing.T) {
	for bit := range uint64(64) {
		a, b := make([]byte, HeaderSize+etherHeader+4), make([]byte, HeaderSize+etherHeader+4)
		flipBit(b, bit)
		if slices.Equal(a, b) || !slices.Equal(a[:HeaderSize+etherHeader], b[:HeaderSize+etherHeader]) {
			t.Errorf("bit %d: % x", bit, b)
		}
	}
	flipBit(make([]byte, HeaderSize+etherHeader), 1) // nothing behind the header
}
