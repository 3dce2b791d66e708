package agent

import (
	"testing"
	"time"
)

// TestRestAfter: a change is heeded at once, members that fight are heeded once in three seconds, and afterwards it is as before.
func TestRestAfter(t *testing.T) {
	rest := restAfter(leastRest/2, true)
	if rest != leastRest {
		t.Errorf("after the first change the agent waits for %v", rest)
	}
	for range 10 {
		rest = restAfter(rest, true)
	}
	if rest < 3*time.Second || rest > mostRest {
		t.Errorf("after many changes the agent waits for %v", rest)
	}
	for range 10 {
		rest = restAfter(rest, false)
	}
	if rest != leastRest {
		t.Errorf("after the fight the agent waits for %v", rest)
	}
}
