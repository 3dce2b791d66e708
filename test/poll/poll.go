// Package poll waits for conditions. Tests that have a world use its Soon and Within, except if a
// try is costly and needs a longer pause.
package poll

import (
	"errors"
	"testing"
	"time"
)

// Until tries until try succeeds or the limit is over, with a pause after each failure. It
// returns how long that took, and the last failure if try has not succeeded. After a longer wait a
// shorter pause than one of 50 ms grows: most tries start programs, and nobody waits for long for
// what would be seen 50 ms earlier.
func Until(limit, pause time.Duration, try func() error) (took time.Duration, err error) {
	for begin := time.Now(); ; time.Sleep(max(pause, min(took/16, 50*time.Millisecond))) {
		err = try()
		took = time.Since(begin)
		if last, ok := err.(final); ok {
			return took, last.error
		}
		if err == nil || took > limit {
			return took, err
		}
	}
}

// For waits until ok reports true, and returns how long that took. It ends the test if the
// limit is over before.
func For(t testing.TB, limit, pause time.Duration, what string, ok func() bool) time.Duration {
	t.Helper()
	took, err := Until(limit, pause, True(ok))
	if err != nil {
		t.Fatalf("%s: not within %v (waited %v)", what, limit, took.Round(time.Millisecond))
	}
	return took
}

var errFalse = errors.New("it is not so")

// True is a try that succeeds once ok reports true.
func True(ok func() bool) func() error {
	return func() error {
		if ok() {
			return nil
		}
		return errFalse
	}
}

type final struct{ error }

// Final is what a try returns that failed for good: Until returns err at once. No error is
// a success.
func Final(err error) error {
	if err == nil {
		return nil
	}
	return final{err}
}
