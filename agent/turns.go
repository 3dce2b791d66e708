package agent

import (
	"context"

	"github.com/heddle-network/heddle"
)

// turns bounds how many requests to the provider there are at a time. A hypervisor's service accepts 16 connections of a machine.
type turns chan struct{}

const requestsAtOnce = 6

func newTurns() turns { return make(turns, requestsAtOnce) }

// take waits until fewer others have a turn. end ends the turn.
func (t turns) take(ctx context.Context) (end func(), err error) {
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, heddle.Wrap(heddle.Waited, "wait for other requests about", "plugged NICs", context.Cause(ctx), "try again")
	}
}
