package aliyun

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

// step is what brings a NIC nearer to a goal.
type step int

const (
	done   step = iota
	pause       // the cloud is busy with it
	attach      // to this instance
	detach      // from this instance
	remove      // delete it
	refuse      // it is another machine's, or it failed
)

// next says how a NIC in this state comes nearer to the goal.
func next(e eni, machine string, to goal) step {
	switch {
	case e.tag(tagMachine) != machine || e.Status == inUse && e.InstanceID != machine:
		return refuse
	case to == gone && (e.Status == createFailed || e.Status == available):
		return remove
	case e.Status == createFailed:
		return refuse
	case e.Status == available:
		return attach
	case e.Status == inUse && to == plugged:
		return done
	case e.Status == inUse:
		return detach
	}
	return pause
}

const (
	// askAgain is how long the API may show a NIC as it was before it was asked to change it.
	askAgain = 5 * time.Second
	// listTime is how long after it was made a NIC may not be listed.
	listTime = 10 * time.Second
)

// drive brings a NIC to a goal, and returns it as the API describes it last. The API answers a call before its work is done, and what
// it describes may be older than its answers. After an error, drive can be called again.
func (p *Provider) drive(ctx context.Context, id string, to goal) (e eni, err error) {
	began, pauses := time.Now(), pauses()
	last, asked := pause, time.Time{} // what the cloud was asked to do, and when
	for {
		all, err := p.api.find(ctx, id, filter{id: id})
		if err != nil {
			return e, err
		}
		what := pause
		switch {
		case len(all) > 0:
			e = all[0]
			what = next(e, p.me.id, to)
		case to == gone:
			return e, nil
		case e.ID != "" || time.Since(began) > listTime:
			return e, heddle.Errorf(heddle.NotPlugged, "plug NIC", id, "the cloud has no such NIC any more", "try again")
		}
		if what == last && time.Since(asked) < askAgain {
			what = pause // the API does not show it yet
		}
		switch what {
		case done:
			return e, nil
		case refuse:
			return e, heddle.Errorf(heddle.NotPlugged, string(to)+" NIC", id, fmt.Sprintf("its state in the cloud is %s; it is with instance %q", e.Status, e.InstanceID),
				"look at it in the cloud's console: heddle changes no NIC that another instance has, or that the cloud failed to make")
		case attach, detach, remove:
			begun, err := p.ask(ctx, what, id)
			if err != nil {
				return e, err
			}
			if begun {
				last, asked = what, time.Now()
			}
		}
		if !wait(ctx, pauses.NextBackOff()) {
			return e, heddle.Wrap(heddle.Waited, "wait for NIC", id, fmt.Errorf("it is %s in the cloud: %w", e.Status, context.Cause(ctx)), stuck(e))
		}
	}
}

// ask has the cloud do a step. It reports whether the cloud has begun; if not, the NIC is just changing, or has gone.
func (p *Provider) ask(ctx context.Context, what step, id string) (begun bool, err error) {
	act := map[step]action{attach: attachNIC, detach: detachNIC, remove: deleteNIC}[what]
	params := map[string]any{"NetworkInterfaceId": id}
	if what != remove {
		params["InstanceId"] = p.me.id
	}
	err = p.api.call(ctx, act, id, params, &struct{}{})
	if changing(err) || noSuch(err) {
		return false, nil
	}
	return err == nil, err
}

// stuck says what to do about a NIC whose state does not change.
func stuck(e eni) string {
	if e.Status == detachingNIC {
		return "look whether the machine's kernel takes part in hot-plug ('dmesg'): it must let go of the NIC; it is tried again"
	}
	return "try again; the cloud is slow"
}
