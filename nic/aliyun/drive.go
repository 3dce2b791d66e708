package aliyun

import (
	"context"
	"fmt"
	"time"

	"github.com/heddle-network/heddle"
)

// goal is what a NIC is to become.
type goal int

const (
	plugged goal = iota // attached to this instance
	gone                // deleted
)

// step is what brings a NIC nearer to a goal.
type step int

const (
	done   step = iota
	pause       // the cloud is busy with it
	attach      // to this instance
	detach      // from this instance
	remove      // delete it
	refuse      // another instance has it
)

// next says how a NIC in this state comes nearer to the goal.
func next(e eni, machine string, to goal) step {
	switch {
	case e.Status == inUse && e.InstanceID != machine:
		return refuse
	case e.Status == createFailed && to == gone, e.Status == available && to == gone:
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

// askAgain is how long the API may show a NIC as it was before it was asked to change it.
const askAgain = 5 * time.Second

// drive brings a NIC to a goal, and returns it as the API describes it last. The API answers a call before its work is done, and what
// it describes may be older than its answers. After an error, drive can be called again.
func (p *Provider) drive(ctx context.Context, id string, to goal) (e eni, err error) {
	last, asked := pause, time.Time{} // what the cloud was asked to do, and when
	deleted, pauses := false, pauses()
	for {
		all, err := p.api.find(ctx, id, map[string]any{"NetworkInterfaceId": []string{id}})
		if err != nil {
			return e, err
		}
		if len(all) == 0 && (deleted || to == gone && e.ID != "") {
			return e, nil
		}
		what := pause // not listed yet
		if len(all) > 0 {
			e = all[0]
			what = next(e, p.me.id, to)
		}
		if what == last && time.Since(asked) < askAgain {
			what = pause // the API does not show it yet
		}
		switch what {
		case done:
			return e, nil
		case refuse:
			return e, heddle.Errorf(heddle.NotPlugged, "plug NIC", id, fmt.Sprintf("its state in the cloud is %s, instance %q", e.Status, e.InstanceID),
				"look who has attached it: heddle's NICs are for heddle alone")
		case attach, detach, remove:
			begun, err := p.ask(ctx, what, id)
			if err != nil {
				return e, err
			}
			if begun {
				last, asked, deleted = what, time.Now(), what == remove
			}
		}
		if !wait(ctx, pauses.NextBackOff()) {
			return e, heddle.Wrap(heddle.Waited, "wait for NIC", id, fmt.Errorf("it is %s in the cloud: %w", e.Status, context.Cause(ctx)), stuck(e))
		}
	}
}

// ask has the cloud do a step. It reports whether the cloud has begun; if not, the NIC is just changing.
func (p *Provider) ask(ctx context.Context, what step, id string) (begun bool, err error) {
	act := map[step]action{attach: attachNIC, detach: detachNIC, remove: deleteNIC}[what]
	params := map[string]any{"NetworkInterfaceId": id}
	if what != remove {
		params["InstanceId"] = p.me.id
	}
	err = p.api.call(ctx, act, id, params, &struct{}{})
	switch {
	case changing(err):
		return false, nil
	case what == remove && noSuch(err):
		return true, nil
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
