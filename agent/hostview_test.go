package agent

import (
	"testing"

	"github.com/heddle-network/heddle"
)

// slowReader answers each read of the facts when the test says so, with what the test gives it.
type slowReader struct {
	HostReader
	requests chan chan heddle.HostFacts
}

func (s slowReader) Facts() (heddle.HostFacts, error) {
	answer := make(chan heddle.HostFacts)
	s.requests <- answer
	return <-answer, nil
}

// TestStaleLook: the result of a read that began earlier does not replace that of a later one.
func TestStaleLook(t *testing.T) {
	s := slowReader{requests: make(chan chan heddle.HostFacts)}
	h := &hostView{kernel: s, viewAgain: make(chan struct{}, 1)}
	over := make(chan error)
	look := func() chan heddle.HostFacts {
		go func() { over <- h.refresh() }()
		return <-s.requests
	}
	end := func(answer chan heddle.HostFacts, kernel string) {
		answer <- heddle.HostFacts{Kernel: kernel}
		if err := <-over; err != nil {
			t.Fatal(err)
		}
	}
	first, second := look(), look()
	end(second, "new")
	end(first, "old")
	if is := h.now().Kernel; is != "new" {
		t.Errorf("the host's facts are %s", is)
	}
	end(look(), "newer")
	if is := h.now().Kernel; is != "newer" {
		t.Errorf("the host's facts are %s after a third look", is)
	}
}
