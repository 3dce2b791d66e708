package impair

import (
	"testing"
	"time"
)

// TestPace: frames leave one after the other at the rate, and none waits longer than there is room. No rate takes no time.
func TestPace(t *testing.T) {
	q, at := newQueue(), time.Now().Add(-time.Hour)
	q.pace(8_000_000, 10*time.Millisecond) // a byte a microsecond
	passed := 0
	for q.put(make([]byte, HeaderSize+1000), at, 5*time.Millisecond, false) {
		passed++
	}
	if passed != 71 { // the last one waits for 70 ms
		t.Errorf("room for %d frames of 1 ms", passed)
	}
	for i := range passed {
		f, _ := q.take()
		if want := time.Duration(i+1)*time.Millisecond + 5*time.Millisecond; f.due.Sub(at) != want {
			t.Errorf("frame %d is due after %s, not %s", i, f.due.Sub(at), want)
		}
	}
	q.pace(Unlimited, 0)
	at = at.Add(time.Second)
	for range 100 {
		if !q.put(make([]byte, HeaderSize+1000), at, 0, false) {
			t.Fatal("without a rate there is no room")
		}
		if f, _ := q.take(); !f.due.Equal(at) {
			t.Errorf("without a rate a frame is due after %s", f.due.Sub(at))
		}
	}
	q.close()
	if _, open := q.take(); open {
		t.Error("a closed queue gives frames")
	}
}

// TestRate reads tc's units, and refuses what no wire carries.
func TestRate(t *testing.T) {
	for text, want := range map[string]Rate{"20mbit": 20e6, "1.5Mbit": 1.5e6, "unlimited": Unlimited, "8kbit": 8000} {
		if got, err := ParseRate(text); err != nil || got != want || got.Check() != nil {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "20", "20MB", "-1mbit", "nanmbit"} {
		if got, err := ParseRate(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
	if Rate(7999).Check() == nil {
		t.Error("a wire carries 7999 bit/s")
	}
}
