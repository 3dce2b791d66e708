package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestStandstill: what takes ten seconds is told, with its error; what takes less is not.
func TestStandstill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s standstill
		took := make(chan time.Duration)
		ctx, cancel := context.WithCancel(t.Context())
		go s.probe(ctx, "a thing", func() error {
			time.Sleep(<-took)
			return errors.New("broken")
		})
		took <- 9 * time.Second
		took <- 11 * time.Second
		cancel()
		time.Sleep(time.Minute)
		var out strings.Builder
		s.print(&out)
		if got := out.String(); strings.Count(got, "\n") < 3 || strings.Count(got, "a thing") != 1 || !strings.Contains(got, "11 s for a thing, which ended with broken") {
			t.Errorf("told %q", got)
		}
	})
}
