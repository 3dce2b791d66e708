package agent

import (
	"reflect"
	"sync/atomic"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/events"
)

// Events returns the log of recent events.
func (a *Agent) Events() *events.Log { return a.reporter.log }

// reporter sends events. Repairs before the agent is ready are not events.
type reporter struct {
	ready *atomic.Bool
	log   *events.Log
}

// send adds an event to the log. It is cheap, and waits for no client.
func (t reporter) send(e events.Event) {
	if t.ready.Load() {
		t.log.Add(e)
	}
}

// networkEvent sends an event about a network.
func (t reporter) networkEvent(what events.Action, n heddle.Network, detail string) {
	t.send(events.Event{Kind: events.Network, Action: what, Object: n.Name, Network: n.Name, Labels: n.Labels,
		Detail: detail})
}

// networkUpdated sends an event if a network's record has changed, not only its plan.
func (t reporter) networkUpdated(before, next heddle.Network) {
	if reflect.DeepEqual(before, next) {
		return
	}
	detail := ""
	if before.Name != next.Name {
		detail = "was " + before.Name
	}
	t.networkEvent(events.Updated, next, detail)
}

func joinedAddrs(e heddle.Endpoint) (text string) {
	for i, p := range e.Addrs {
		if i > 0 {
			text += ","
		}
		text += p.String()
	}
	return text
}
