// Package events has the events of networks, endpoints, peers and paths, and a log of the
// last of them in their order. A watcher reads the log at its own pace, so that adding an
// event never waits for a watcher.
package events

import (
	"slices"
	"time"

	"github.com/heddle-network/heddle"
)

// Kind is what an event is about.
type Kind string

// The kinds. A trouble is a part of the agent that is not ok (heddle.PartStatus).
const (
	Network  Kind = "network"
	Endpoint Kind = "endpoint"
	Peer     Kind = "peer"
	Path     Kind = "path"
	Trouble  Kind = "trouble"
	// Flow is that of a log of its own: what policies have refused.
	Flow Kind = "flow"
)

// Kinds lists those of what happens to the host's objects.
func Kinds() []Kind { return []Kind{Network, Endpoint, Peer, Path, Trouble} }

// Action is what happened to it.
type Action string

// The actions: networks and peers are created, updated and removed, endpoints attached,
// updated and detached, paths go up and down, troubles begin, are updated and end.
const (
	Created  Action = "created"
	Updated  Action = "updated"
	Removed  Action = "removed"
	Attached Action = "attached"
	Detached Action = "detached"
	Up       Action = "up"
	Down     Action = "down"
	Began    Action = "began"
	Ended    Action = "ended"
	// Refused is that of a flow; Missed is that of refused packets which the log lacks.
	Refused Action = "refused"
	Missed  Action = "missed"
)

// Event is one thing that happened.
type Event struct {
	// Cursor is where the event is in the log: reading goes on after it.
	Cursor string    `json:"cursor"`
	Time   time.Time `json:"time"`
	Kind   Kind      `json:"kind"`
	Action Action    `json:"action"`
	// Object is the name of the network, peer or part, or the endpoint's id.
	Object string `json:"object"`
	// Network is the name of the network that it concerns.
	Network string            `json:"network,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	Detail  string            `json:"detail,omitempty"`
	// Flow is what was refused, for an event of that kind; the object is the endpoint whose port refused it.
	Flow *heddle.Flow `json:"flow,omitempty"`
	// Missed is how many packets the log lacks, if that is known; the detail says why.
	Missed uint32 `json:"missed,omitempty"`
}

// The keys by which events are filtered.
const keyKind, keyNetwork = "kind", "network"

// FilterKeys lists them.
func FilterKeys() []string { return []string{keyKind, keyNetwork, heddle.FilterLabel} }

// ParseFilter reads a filter of events.
func ParseFilter(words []string) (heddle.Filter, error) {
	f, err := heddle.ParseFilter(words, FilterKeys()...)
	if err != nil {
		return nil, err
	}
	for _, k := range f[keyKind] {
		if !slices.Contains(Kinds(), Kind(k)) {
			return nil, heddle.Errorf(heddle.BadArgument, "read filter", "kind="+heddle.Clip(k),
				"there is no such kind", "give one of network, endpoint, peer, path and trouble")
		}
	}
	return f, nil
}

// The keys by which flows are filtered, besides network and label.
const keyDirection, keyEndpoint, keyPolicy, keyProtocol = "direction", "endpoint", "policy", "protocol"

// FlowKeys lists them all.
func FlowKeys() []string {
	return []string{keyDirection, keyEndpoint, keyNetwork, keyPolicy, keyProtocol, heddle.FilterLabel}
}

// ParseFlowFilter reads a filter of flows.
func ParseFlowFilter(words []string) (heddle.Filter, error) {
	return heddle.ParseFilter(words, FlowKeys()...)
}

// matchesFlow reports whether the flow passes a filter. A policy is that of the rule that decided, or one of those of which no rule fits.
func (e Event) matchesFlow(f heddle.Filter) bool {
	flow := e.Flow
	if flow == nil {
		return true
	}
	isOf := flow.Rule > 0 && f.Has(keyPolicy, flow.Policy) || flow.Rule == 0 && (len(f[keyPolicy]) == 0 || slices.ContainsFunc(flow.Policies, func(p string) bool { return f.Has(keyPolicy, p) }))
	return isOf && f.Has(keyDirection, flow.Direction) && f.Has(keyEndpoint, e.Object) && f.Has(keyProtocol, flow.Protocol)
}

// Matches reports whether the event passes a filter. What is missed might have passed any.
func (e Event) Matches(f heddle.Filter) bool {
	return e.Action == Missed || f.Has(keyKind, string(e.Kind)) && f.Has(keyNetwork, e.Network) && f.HasLabels(e.Labels) && e.matchesFlow(f)
}

// maxDetail bounds the detail of an event, in bytes.
const maxDetail = 1024

// size is about what an event takes in memory, in bytes.
func (e Event) size() int {
	n := 256 + len(e.Object) + len(e.Network) + len(e.Detail)
	if e.Flow != nil {
		n += 256 + len(e.Flow.Why)
		for _, p := range e.Flow.Policies {
			n += 16 + len(p)
		}
	}
	for k, v := range e.Labels {
		n += 64 + len(k) + len(v)
	}
	return n
}
