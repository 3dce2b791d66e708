package eni

import (
	"context"
	"fmt"
	"time"

	"github.com/heddle-network/heddle"
)

// goal is what a NIC is to become.
type goal string

const (
	plugged goal = "plug"   // attached to this instance
	gone    goal = "unplug" // deleted
)

// Step is what brings a NIC nearer to a goal.
type Step int

const (
	done   Step = iota
	pause       // the cloud is busy with it
	refuse      // it is another machine's, or it failed
	Attach      // to this instance
	Tie         // have the cloud delete it with this instance
	Detach      // from this instance
	Delete
)

// next says how a NIC in this state comes nearer to the goal.
func next(n NIC, machine string, to goal) Step {
	switch {
	case n.Tags[TagMachine] != machine || n.State == Attached && n.Instance != machine:
		return refuse
	case to == gone && (n.State == Failed || n.State == Free):
		return Delete
	case n.State == Failed:
		return refuse
	case n.State == Free:
		return Attach
	case n.State == Attached && to == plugged && n.Loose:
		return Tie
	case n.State == Attached && to == plugged:
		return done
	case n.State == Attached:
		return Detach
	}
	return pause
}

// listTime is how long after it was made a NIC may not be listed.
const listTime = 10 * time.Second

// drive brings a NIC to a goal, and returns it as the API describes it last. The API answers a call before its work is done, and what
// it describes may be older than its answers. After an error, drive can be called again.
func (p *Provider) drive(ctx context.Context, id string, to goal) (n NIC, err error) {
	began, pauses := time.Now(), pauses()
	last, asked := pause, time.Time{} // what the cloud was asked to do, and when
	for {
		all, err := p.find(ctx, id, Filter{ID: id})
		if err != nil {
			return n, err
		}
		what := pause
		switch {
		case len(all) > 0:
			n = all[0]
			what = next(n, p.me.ID, to)
		case to == gone:
			return n, nil
		case n.ID != "" || time.Since(began) > listTime:
			return n, heddle.Errorf(heddle.NotPlugged, "plug NIC", id, "the cloud has no such NIC any more", "try again")
		}
		if what == last && time.Since(asked) < p.settings.Lag {
			what = pause // the API does not show it yet
		}
		switch what {
		case done:
			return n, nil
		case refuse:
			return n, heddle.Errorf(heddle.NotPlugged, string(to)+" NIC", id, fmt.Sprintf("its state in the cloud is %s; it is with instance %q", n.Word, n.Instance),
				"look at it in the cloud's console: heddle changes no NIC that another instance has, or that the cloud failed to make")
		case Attach, Tie, Detach, Delete:
			begun, err := p.ask(ctx, what, n)
			if err != nil {
				return n, err
			}
			if begun {
				last, asked = what, time.Now()
			}
		}
		if !wait(ctx, pauses.NextBackOff()) {
			return n, heddle.Wrap(heddle.Waited, "wait for NIC", id, fmt.Errorf("it is %s in the cloud: %w", n.Word, context.Cause(ctx)), stuck(n))
		}
	}
}

// ask has the cloud do a step. It reports whether the cloud has begun; if not, the NIC is just changing, or has gone.
func (p *Provider) ask(ctx context.Context, what Step, n NIC) (begun bool, err error) {
	err = p.cloud.Change(ctx, what, n)
	if f, is := failureOf(err); is && (f.Fault == Changing || f.Fault == Gone) {
		return false, nil
	}
	return err == nil, err
}

// stuck says what to do about a NIC whose state does not change.
func stuck(n NIC) string {
	if n.State == Detaching {
		return "look whether the machine's kernel takes part in hot-plug ('dmesg'): it must let go of the NIC; it is tried again"
	}
	return "try again; the cloud is slow"
}
