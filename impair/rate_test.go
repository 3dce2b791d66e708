package impair

import (
	"testing"
	"time"
)

// TestPace: frames leave one after the other at the rate, and none waits longer than there is room.
func TestPace(t *testing.T) {
	q := newQueue()
	q.pace(8_000_000, 10*time.Millisecond) // a byte a microsecond
	begun, passed := time.Now(), 0
	for q.put(make([]byte, HeaderSize+1000), 5*time.Millisecond, false) {
		if passed++; passed > 200 {
			t.Fatal("the queue has no bound")
		}
	}
	if passed < 70 { // of 70 ms; on a busy machine some leave meanwhile
		t.Errorf("room for %d frames of 1 ms", passed)
	}
	for range 10 {
		q.take()
	}
	if took := time.Since(begun); took < 14*time.Millisecond {
		t.Errorf("ten frames of 1 ms each, and 5 ms of delay, took %s", took)
	}
	q.pace(Unlimited, 0)
	if q.rate != 0 {
		t.Errorf("unlimited is %d", q.rate)
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
