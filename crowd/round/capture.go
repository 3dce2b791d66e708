package round

import (
	"fmt"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/capture"
)

// capture is that of the round; nil if there is none.
func (o Options) capture() *capture.Capture {
	if o.Capture == nil {
		return nil
	}
	return capture.New(o.Capture, fmt.Sprintf("crowd %s, round %d, mode %s", o.Scenario.Name, o.Number, o.Network.Mode), o.Most)
}

// end ends the round's capture, and counts it.
func (o Options) end(c *capture.Capture, r *Round) error {
	if c == nil {
		return nil
	}
	count, err := c.Close()
	r.Captured = &count
	if err != nil {
		return heddle.Wrap(heddle.BadArgument, "write capture of round", fmt.Sprint(o.Number), err, "make room there")
	}
	return nil
}
