package eni

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/time/rate"

	"github.com/heddle-network/heddle"
)

// Calls are those of a cloud's API. They keep within budgets, and what was refused only for now is asked again. No library does so beside them.
type Calls struct {
	budgets map[Budget]*rate.Limiter
	// Read says what an error means that Do's function returned.
	read func(error) Failure
	// remedies are for codes of the API that a person can do something about.
	remedies map[string]Remedy
	// credentials fetches new ones where the old ones end soon.
	credentials func(context.Context) error
}

// Budget is a group of actions that share a number of calls a minute.
type Budget string

// Rate is how many calls a machine makes a minute at most, and how many at once.
type Rate struct{ PerMinute, AtOnce int }

// Action is a call of an API. One that is patient is called again for a while if the NIC is just changing. One that is single is not called again if an answer
// was lost: it would be done twice.
type Action struct {
	Name    string
	Patient bool
	Single  bool
	Budget  Budget
}

// Remedy is what a code of an API is among ours, and what to do about it.
type Remedy struct {
	Code   heddle.Code
	Remedy string
}

// CallTime limits one request.
const CallTime = 10 * time.Second

const (
	// awayTime is how long a call is tried again while the API is away.
	awayTime = 5 * time.Second
	// firstPause and longestPause are between attempts, and between looks at a NIC that changes.
	firstPause, longestPause = 200 * time.Millisecond, 2 * time.Second
)

// NewCalls returns calls within budgets. read says what an error means, remedies are by codes of the API, and credentials is called before each call.
func NewCalls(budgets map[Budget]Rate, read func(error) Failure, remedies map[string]Remedy, credentials func(context.Context) error) *Calls {
	c := &Calls{budgets: map[Budget]*rate.Limiter{}, read: read, remedies: remedies, credentials: credentials}
	for b, r := range budgets {
		c.budgets[b] = rate.NewLimiter(rate.Every(time.Minute/time.Duration(r.PerMinute)), r.AtOnce)
	}
	return c
}

// Do calls an action by a function that does so once. object is what it is about, for errors. While the API says that it is asked too often, it is asked again
// until the context ends.
func (c *Calls) Do(ctx context.Context, act Action, object string, once func(context.Context) error) error {
	pause, began := pauses(), time.Now()
	for {
		if err := c.budgets[act.Budget].Wait(ctx); err != nil {
			return heddle.Wrap(heddle.Waited, act.Name, object, err, "try again: this machine has called the API very often")
		}
		if err := c.credentials(ctx); err != nil {
			return err
		}
		err := limited(ctx, once)
		if err == nil {
			return nil
		}
		f := c.read(err)
		again := f.Fault == Throttled || (f.Fault == Away && !act.Single || act.Patient && f.Fault == Changing) && time.Since(began) < awayTime
		if !again || !wait(ctx, pause.NextBackOff()) {
			return c.refused(act.Name, object, f)
		}
	}
}

func limited(ctx context.Context, once func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, CallTime)
	defer cancel()
	return once(ctx)
}

// pauses are those between attempts. They grow, and differ between machines.
func pauses() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = firstPause, longestPause
	return b
}

// wait waits, and reports whether the context goes on.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
