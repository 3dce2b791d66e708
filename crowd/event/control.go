package event

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// Command is what a crowd is told while it plays. One of its fields is given.
type Command struct {
	// Begin is a fault that begins now. Without For, it lasts until it is cleared, or until the round ends.
	Begin *scenario.Event `json:"begin,omitempty"`
	// Clear ends the faults that were given by hand.
	Clear bool `json:"clear,omitempty"`
}

// Control takes commands to the round that is being played, and to none between rounds. Its zero value is ready.
type Control struct {
	mu  sync.Mutex
	now *Events
}

// Lead gives commands to a round from now on, and to none after the returned function.
func (c *Control) Lead(x *Events) (leave func()) {
	set := func(x *Events) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.now = x
	}
	set(x)
	return func() { set(nil) }
}

// NotPlaying is the error of a command that comes between rounds.
func NotPlaying() error {
	return heddle.Errorf(heddle.CrowdFailed, "tell crowd", "", "nothing is being played just now", "wait until 'heddle crowd status' shows a round")
}

// Do does what a command says, and returns the events that go on then. A fault that is refused changes nothing. If a cleared
// thing cannot be as it was, its fault has ended all the same, and the round's end has the error, too.
func (c *Control) Do(told Command) ([]diary.Event, error) {
	c.mu.Lock() // until it is done: the round does not end meanwhile
	defer c.mu.Unlock()
	if c.now == nil {
		return nil, NotPlaying()
	}
	return c.now.do(told)
}

func (x *Events) do(told Command) (goOn []diary.Event, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Since(x.begun)
	switch {
	case told.Clear == (told.Begin != nil):
		err = heddle.Errorf(heddle.BadArgument, "tell crowd", "", "it is told nothing, or two things", "say one of them")
	case told.Clear:
		err = x.clear(now)
	default:
		err = x.give(*told.Begin, now)
	}
	if err != nil {
		return nil, err
	}
	select {
	case x.look <- struct{}{}:
	default:
	}
	return slices.DeleteFunc(slices.Clone(x.all), func(e diary.Event) bool { return e.Ended != 0 }), nil
}

// maxByHand is how many faults are given by hand in a round at most: all of them are in its report.
const maxByHand = 1000

// give begins a fault by hand. It takes the place of one that was given before for the same.
func (x *Events) give(e scenario.Event, now time.Duration) error {
	if err := x.scenario.CheckFault(e); err != nil {
		return err
	}
	if n := len(x.all) - (len(x.scenario.Events) - len(x.next)); n >= maxByHand {
		return heddle.Errorf(heddle.CrowdFailed, "begin fault", e.String(), fmt.Sprintf("this round has had %d faults by hand, and can have no more", n), "wait for the next round")
	}
	e.At = now
	given := diary.Event{Event: e, ByHand: true, Began: now}
	x.all = append(x.all, given) // the last one counts
	if err := x.put(e); err != nil {
		x.all = x.all[:len(x.all)-1]
		return err
	}
	for i, old := range x.all[:len(x.all)-1] {
		if old.ByHand && old.Ended == 0 && old.SameThing(e) {
			x.end(i, now)
		}
	}
	x.diary.Event(given)
	return nil
}

// clear ends what was given by hand. The error is that of what is not as it should be then.
func (x *Events) clear(now time.Duration) (failed error) {
	for i, e := range x.all {
		if !e.ByHand || e.Ended != 0 {
			continue
		}
		x.end(i, now)
		failed = errors.Join(failed, x.put(e.Event))
	}
	x.failed = errors.Join(x.failed, failed)
	return failed
}
