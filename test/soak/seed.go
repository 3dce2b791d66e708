package soak

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Seed returns the seed of a test that draws what it does: the number in HEDDLE_SEED; otherwise a new one in the full form, and always the
// same in make test. It logs the seed, to do the same again.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(1)
	if On() {
		seed = rand.Uint64()
	}
	if text := os.Getenv("HEDDLE_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("HEDDLE_SEED=%q is not a number", text)
		}
	}
	t.Logf("HEDDLE_SEED=%d", seed)
	return seed
}
