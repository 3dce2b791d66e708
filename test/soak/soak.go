// Package soak says whether tests run in their full form, which takes minutes or hours and needs an
// idle machine, or in the small form of make test.
package soak

import (
	"os"
	"testing"
)

// Variable is set to "1" by make soak.
const Variable = "HEDDLE_SOAK"

// On reports whether the full forms run.
func On() bool { return os.Getenv(Variable) == "1" }

// Need skips the test unless the full forms run. The reason says why it is not a part of
// make test.
func Need(t testing.TB, reason string) {
	t.Helper()
	if !On() {
		t.Skipf("%s; %s=1 runs it", reason, Variable)
	}
}

// Pattern is the pattern of the tests to run: the small one, or the full one.
func Pattern(small, full string) string {
	if On() {
		return full
	}
	return small
}
