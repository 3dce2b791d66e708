package kernel

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAttributes: attributes are found by their type, the last one counts, and one that is cut off or malformed ends the list.
// Nothing is read beyond the list.
func TestAttributes(t *testing.T) {
	raw := []byte{
		5, 0, 1, 0, 'a', 0, 0, 0, // padded
		4, 0, 2, 0, // a flag
		8, 0, 3, unix.NLA_F_NESTED >> 8, 4, 0, 7, 0,
		6, 0, 1, 0, 'b', 'c', 0, 0,
	}
	at := attributes(raw)
	if n := at.count(); n != 4 {
		t.Errorf("there are %d", n)
	}
	if got := at.get(1); string(got) != "bc" || cap(got) != 2 {
		t.Errorf("the last one: %q", got)
	}
	if got := at.get(2); got == nil || len(got) > 0 {
		t.Errorf("a flag: %v", got)
	}
	if got := attributes(at.get(3)).get(7); got == nil || at.get(7) != nil || at.get(4) != nil {
		t.Errorf("a nested one: %v", got)
	}
	var kinds []uint16
	for kind := range at.all() {
		if kinds = append(kinds, kind); len(kinds) == 3 {
			break
		}
	}
	if !slices.Equal(kinds, []uint16{1, 2, 3}) {
		t.Errorf("the first three are %v", kinds)
	}
	for n := range raw {
		found := 0
		for _, value := range attributes(raw[:n:n]).all() {
			found += len(value)
		}
		want := 0
		for _, a := range []struct{ end, size int }{{5, 1}, {12, 0}, {20, 4}, {26, 2}} {
			if n >= a.end {
				want += a.size
			}
		}
		if found != want {
			t.Errorf("%d bytes: %d in values, expected %d", n, found, want)
		}
	}
	for _, bad := range []attributes{nil, {0, 0, 1, 0}, {3, 0, 1, 0}, {9, 0, 1, 0, 1, 2, 3, 4}, {4, 0, 1}} {
		if got := bad.get(1); got != nil {
			t.Errorf("%v: %v", bad, got)
		}
	}
}
