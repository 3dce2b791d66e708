// Package draw draws random values that are the same on every machine: from streams that depend on a seed and
// names alone, by arithmetic that no compiler and no processor rounds in another way.
package draw

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// Stream is a source of random values. Two streams of the same seed and names give the same values; any other
// two have nothing in common, so that a draw more from one of them changes no other. The zero Stream is not
// valid. A Stream is for one goroutine.
type Stream struct{ source *rand.ChaCha8 }

// NewStream returns the stream of a seed and names. Its values are those of ChaCha8 (C2SP, chacha8rand) with the
// SHA-256 of seed and names as its key.
func NewStream(seed uint64, names ...string) *Stream {
	var text []byte
	text = binary.BigEndian.AppendUint64(text, seed)
	for _, n := range names {
		text = binary.BigEndian.AppendUint64(text, uint64(len(n))) // "ab", "c" are not "a", "bc"
		text = append(text, n...)
	}
	return &Stream{rand.NewChaCha8(sha256.Sum256(text))}
}

// Read fills the bytes. It never fails.
func (s *Stream) Read(b []byte) (int, error) { return s.source.Read(b) }

// Unit draws a number between 0 and 1, both excluded: one of 2^52 that lie equally far apart.
func (s *Stream) Unit() float64 { return unit(s.source.Uint64()) }

// unit is the middle of one of 2^52 parts of the numbers from 0 to 1. With one bit more, the last one would be
// rounded to 1.
func unit(bits uint64) float64 {
	const parts = 1 << 52
	return float64(float64(bits>>12)+0.5) / parts
}

// Below draws one of the numbers 0 to n-1. It panics if n is not positive.
func (s *Stream) Below(n int) int {
	if n <= 0 {
		panic("draw: a number below one that is not positive")
	}
	limit := uint64(n)
	for rest := -limit % limit; ; { // 2^64 mod n of all values would make some numbers likelier
		if v := s.source.Uint64(); v >= rest {
			return int(v % limit)
		}
	}
}

// Chance reports true with probability p.
func (s *Stream) Chance(p float64) bool { return s.Unit() < p }

// Pick draws an index by weight. Weights that are not positive are never drawn; it returns -1 if there is no
// other.
func (s *Stream) Pick(weights []float64) int {
	total, last := 0.0, -1
	for i, w := range weights {
		if w > 0 {
			total, last = total+w, i
		}
	}
	at := float64(s.Unit() * total)
	for i, w := range weights {
		if w <= 0 {
			continue
		}
		if at < w {
			return i
		}
		at -= w
	}
	return last // what rounding has left over
}
