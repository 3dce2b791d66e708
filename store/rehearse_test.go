package store

import (
	"errors"
	"slices"
	"testing"
)

// TestRehearsal: a rehearsed change is told, a key a line whatever others have written, and not made.
func TestRehearsal(t *testing.T) {
	s := Rehearse(nil) // nothing is asked of the store
	done, _, err := s.Commit(t.Context(), Change{Put: []Entry{{Key: "/a"}}, Delete: []string{"/b\nrm -r /"}, DeletePrefix: []string{"/c/"}})
	var r *Rehearsed
	if done || !errors.As(err, &r) {
		t.Fatal(done, err)
	}
	want := []string{"# in the store: write /a", `# in the store: delete /b\nrm -r /`, "# in the store: delete /c/..."}
	if got := r.Lines(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
