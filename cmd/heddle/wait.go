package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

// pollInterval is the time between two calls while waiting.
const pollInterval = 50 * time.Millisecond

// waitHealthy returns a function that looks at the status until it is healthy.
func (s *session) waitHealthy(timeout time.Duration) func(context.Context) (heddle.Status, error) {
	return func(ctx context.Context) (heddle.Status, error) {
		limited, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		defer s.showProgress("waiting for the agent to be healthy")()
		last, remedy := "it has not answered", ""
		for {
			st, err := s.client().Status(limited)
			switch {
			case err == nil && healthy(st):
				return st, nil
			case errors.Is(err, heddle.NoPermission.Sentinel()):
				return st, err // waiting does not help
			case err == nil:
				last, remedy = unhealthyReason(st), "look at 'heddle status'"
			case limited.Err() == nil:
				last, remedy = heddle.SentenceOf(err), heddle.RemedyOf(err)
			}
			select {
			case <-time.After(pollInterval):
			case <-limited.Done():
				return st, heddle.Errorf(heddle.Waited, "wait for healthy agent", "", fmt.Sprintf("after %s, %s", timeout, last),
					strings.TrimPrefix(remedy+", or wait longer with --timeout", ", or "))
			}
		}
	}
}

func unhealthyReason(st heddle.Status) string {
	for _, p := range st.Parts {
		if p.State == "bad" {
			return fmt.Sprintf("%s is bad: %s", p.Name, p.Detail)
		}
	}
	return "it is not ready"
}
