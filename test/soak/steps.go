package soak

import "testing"

// stride is how far the steps lie apart that make test visits.
const stride = 3

// Next returns the next step that a test visits which breaks an operation at its steps: the
// following one in the full form, and one of three in make test. Which one of three depends on
// the test's name alone, so that a failure comes again.
func Next(t testing.TB, step int) int {
	if On() {
		return step + 1
	}
	return next(t.Name(), step)
}

func next(name string, step int) int {
	for step++; step%stride != sum(name)%stride; step++ {
	}
	return step
}

// sum adds up the name's bytes: bridge and routed have two sums, whatever stands beside them.
func sum(name string) (n int) {
	for _, b := range []byte(name) {
		n += int(b)
	}
	return n
}
