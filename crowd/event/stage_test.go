package event_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/test/poll"
)

// stage notes what is done to it. A service that is broken does not come back.
type stage struct {
	mu     sync.Mutex
	done   []string
	broken string
}

func (s *stage) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, text)
}

func (s *stage) Fault(service string, as scenario.Fault) error {
	if service == s.broken && as == scenario.Sound {
		return errors.New("address already in use")
	}
	s.note(strings.TrimSpace(service + " " + string(as)))
	return nil
}

func (s *stage) Link(persona string, as scenario.Link) error {
	s.note(persona + " " + as.String())
	return nil
}

func (s *stage) has(done ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Equal(s.done, done)
}

func (s *stage) awaits(t *testing.T, done ...string) {
	t.Helper()
	_, err := poll.Until(time.Minute, time.Millisecond, func() error {
		if s.has(done...) {
			return nil
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		return fmt.Errorf("done was %q", s.done)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, events string) scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse([]byte(`
crowd: some
users: 4
clock: {start: "Mon 09:00", length: 10m}
personas:
  far: {share: 50%, link: {delay: 30ms}, does: {mail: 1/m}}
  near: {share: 50%, does: {browse: 1/m}}
` + events))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
