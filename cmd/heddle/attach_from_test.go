package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

// A call asks for at most so many endpoints, and so many ports, but for one endpoint at least.
func TestNextBatch(t *testing.T) {
	for _, c := range []struct {
		ports []int // of each endpoint
		want  int
	}{
		{nil, 0}, {make([]int, 64), 64}, {make([]int, 65), 64}, {[]int{heddle.MaxPorts}, 1}, {[]int{heddle.MaxPorts, 1}, 1}, {[]int{heddle.MaxPorts - 1, 1, 1}, 2},
	} {
		var all []heddle.AttachRequest
		for _, n := range c.ports {
			all = append(all, heddle.AttachRequest{Ports: make([]heddle.PortMapping, n)})
		}
		if got := nextBatch(all); got != c.want {
			t.Errorf("of endpoints with %v ports: %d, want %d", c.ports, got, c.want)
		}
	}
}

// What is not attached counts, and each error is told: the first one by the command's error, the others by notes.
func TestFailureOf(t *testing.T) {
	taken := heddle.Errorf(heddle.AddressTaken, "lease address", "10.0.0.2", "", "choose another address")
	away := heddle.Errorf(heddle.AgentDown, "call agent", "heddle.sock", "EOF", "start it")
	good, bad := heddle.AttachResult{Reply: &heddle.AttachReply{}}, heddle.AttachResult{Error: taken}
	for _, c := range []struct {
		lines   int
		results []heddle.AttachResult
		refused error
		object  string
		kind    heddle.Kind
		notes   int
	}{
		{2, []heddle.AttachResult{good, good}, nil, "", 0, 0},
		{2, []heddle.AttachResult{good, bad}, nil, "1 of 2 endpoints in list", heddle.Partial, 0},
		{3, []heddle.AttachResult{bad, good, bad}, nil, "2 of 3 endpoints in list", heddle.Partial, 1},
		{1, []heddle.AttachResult{bad}, nil, "1 of 1 endpoint in list", heddle.Conflict, 0},
		{130, slices.Repeat([]heddle.AttachResult{good}, 64), away, "66 of 130 endpoints in list", heddle.Partial, 0},
		{130, slices.Concat([]heddle.AttachResult{bad}, slices.Repeat([]heddle.AttachResult{good}, 63)), away, "67 of 130 endpoints in list", heddle.Partial, 1},
	} {
		var said bytes.Buffer
		s := newSession(processEnv{getenv: func(string) string { return "" }, stderr: &said})
		err := heddle.ErrorOf("", s.failureOf("list", c.lines, c.results, c.refused))
		if c.object == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if err.Object != c.object || err.Kind != c.kind || strings.Count(said.String(), "\n") != c.notes {
			t.Errorf("got %v, exit %d, and notes %q; want %s, exit %d, %d notes", err, err.Kind, said.String(), c.object, c.kind, c.notes)
		}
	}
}
