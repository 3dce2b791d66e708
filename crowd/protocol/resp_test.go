package protocol

import (
	"bufio"
	"bytes"
	"slices"
	"testing"
)

// TestFilled: a command has the size that is asked for, also where its number of letters gets a digit more.
func TestFilled(t *testing.T) {
	var least bytes.Buffer
	w := bufio.NewWriter(&least)
	filled(w, 0, "XADD", "inbox", "*", "m")
	w.Flush()
	for size := int64(least.Len()); size < 11_000; size++ {
		var got bytes.Buffer
		w.Reset(&got)
		filled(w, size, "XADD", "inbox", "*", "m")
		w.Flush()
		if int64(got.Len()) != size {
			t.Errorf("%d bytes, %d were asked for", got.Len(), size)
		}
	}
}

// TestCut: pieces are as large as they may be at most, nearly equal, and all of it.
func TestCut(t *testing.T) {
	for size, want := range map[int64][]int64{0: nil, 1: {1}, 10: {10}, 11: {5, 6}, 31: {7, 8, 8, 8}} {
		if got := slices.Collect(cut(size, 10)); !slices.Equal(got, want) {
			t.Errorf("%d: %v; expected %v", size, got, want)
		}
	}
}
