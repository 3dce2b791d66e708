package agent

import (
	"reflect"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/events"
)

// Events is what happened lately to what the agent keeps.
func (a *Agent) Events() *events.Log { return a.events }

// note adds an event; what is put in order before the agent is ready is none. It costs
// little, and waits for nobody who watches.
func (a *Agent) note(e events.Event) {
	if a.ready.Load() {
		a.events.Add(e)
	}
}

// tellEndpoint says what happened to an endpoint. The caller holds its lock, so that its
// events are in order.
func (a *Agent) tellEndpoint(what events.Action, e heddle.Endpoint) {
	name := e.NetworkName
	if n := a.networkByID(e.Network); n != nil {
		name = n.Name
	}
	a.note(events.Event{Kind: events.Endpoint, Action: what, Object: e.ID.String(), Network: name, Labels: e.Labels, Detail: joinedAddrs(e)})
}

// tellNetwork says what happened to a network. The caller holds mu, so that nothing of
// the network's is told before it came, nor after it went.
func (a *Agent) tellNetwork(what events.Action, n heddle.Network, detail string) {
	a.note(events.Event{Kind: events.Network, Action: what, Object: n.Name, Network: n.Name, Labels: n.Labels, Detail: detail})
}

// tellChange says that a network's record has changed, unless only its plan has.
func (a *Agent) tellChange(before, next heddle.Network) {
	if reflect.DeepEqual(before, next) {
		return
	}
	detail := ""
	if before.Name != next.Name {
		detail = "was " + before.Name
	}
	a.tellNetwork(events.Updated, next, detail)
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
