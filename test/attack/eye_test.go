package attack_test

import (
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/world"
)

// eye looks for an attack's success.
type eye struct {
	// wanted says that the attack should succeed. It gets the time of a machine on
	// which everything is tested at once; one that should not gets the time for
	// which a frame may be on its way.
	wanted bool
}

// wins tries an attack that should succeed: some are a race with the true owner of
// what they claim, and may lose it at first.
func (e *eye) wins(try func() bool) bool {
	e.wanted = true
	defer func() { e.wanted = false }()
	for range 3 {
		if try() {
			return true
		}
	}
	return false
}

// limit is how long success may take.
func (e *eye) limit() time.Duration {
	if e.wanted {
		return world.Patience
	}
	return 2 * world.Quiet
}

// sees looks again and again, the last time when the limit is over.
func (e *eye) sees(look func() bool) bool { return within(e.limit(), look) || look() }

// saw ends a capture, and reports whether such a frame came.
func (e *eye) saw(c *world.Capture, is func(world.Frame) bool) bool {
	if e.wanted {
		c.Await(1, is)
	}
	return world.Count(c.Stop(), is) > 0
}

// arrives watches for the attack's frames on a link.
func (e *eye) arrives(t *testing.T, at world.Netns, link string) func() bool {
	c := at.Capture(t, link)
	return func() bool {
		return e.saw(c, func(f world.Frame) bool { return !f.Out && world.Contains(mark)(f) })
	}
}

// within looks again and again for as long as that.
func within(limit time.Duration, look func() bool) bool {
	_, err := poll.Until(limit, 20*time.Millisecond, poll.True(look))
	return err == nil
}
