package scenario_test

import (
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/impair"
)

// TestLink reads a link in the words of a lab's faults. Who has none has nil.
func TestLink(t *testing.T) {
	text := strings.Replace(good, "share: 60%", "share: 60%, link: {jitter: 8ms, delay: 30ms, loss: 0.5%, rate: 20mbit, reorder: 0.01}", 1)
	s, err := scenario.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := scenario.Link{Rate: 20e6, Impairment: impair.Impairment{Delay: 30 * time.Millisecond, Jitter: 8 * time.Millisecond, Loss: 0.005, Reorder: 0.01}}
	if got := s.Personas["one"].Link; got == nil || *got != want {
		t.Errorf("%+v, not %+v", got, want)
	}
	if got, words := want.String(), "delay 30ms, jitter 8ms, loss 0.5%, reorder 1%, rate 20mbit"; got != words {
		t.Errorf("%q, not %q", got, words)
	}
	if got := (scenario.Link{Rate: 20e6}).String(); got != "rate 20mbit" {
		t.Error(got)
	}
	if s.Personas["two"].Link != nil {
		t.Error("persona two has a link")
	}
}
