package modes_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// same fails the test if two dumps differ.
func same(t *testing.T, when, before, after string) {
	t.Helper()
	if diff := cmp.Diff(strings.Split(before, "\n"), strings.Split(after, "\n")); diff != "" {
		t.Errorf("%s the system differs (-before +after):\n%s", when, diff)
	}
}
