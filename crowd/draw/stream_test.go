package draw

import (
	"math"
	"testing"
)

// TestUnit: no bits give 0 or 1, and neither end has a value that a logarithm makes infinite.
func TestUnit(t *testing.T) {
	const half = 1.0 / (1 << 53)
	for bits, want := range map[uint64]float64{0: half, 1<<12 - 1: half, 1 << 63: 0.5 + half, math.MaxUint64: 1 - half} {
		if got := unit(bits); got != want || got <= 0 || got >= 1 {
			t.Errorf("%x: %v, not %v", bits, got, want)
		}
	}
}
