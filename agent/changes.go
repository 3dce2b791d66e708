package agent

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/events"
	"github.com/heddle-network/heddle/peer"
)

// Peers, paths and problems change in many places, so the agent polls them.
const (
	// pollWatched and pollUnwatched are the intervals with and without a client that watches
	// events.
	pollWatched, pollUnwatched = time.Second, 10 * time.Second
)

// reportChanges sends an event for each change between two polls.
func (a *Agent) reportChanges(ctx context.Context) {
	peers, parts := byID(a.Peers()), map[string]heddle.PartStatus{}
	for last := time.Now(); pause(ctx, pollWatched); {
		if !a.reporter.log.Watched() && time.Since(last) < pollUnwatched {
			continue
		}
		last = time.Now()
		nextPeers, nextParts := byID(a.Peers()), byName(a.Status().Parts)
		for _, e := range append(peerChanges(peers, nextPeers), partChanges(parts, nextParts)...) {
			a.reporter.send(e)
		}
		peers, parts = nextPeers, nextParts
	}
}

func byID(all []heddle.PeerStatus) map[string]heddle.PeerStatus {
	m := map[string]heddle.PeerStatus{}
	for _, p := range all {
		m[p.ID] = p
	}
	return m
}

// byName leaves out the part for endpoints, which is seldom ok while containers come and go.
func byName(all []heddle.PartStatus) map[string]heddle.PartStatus {
	m := map[string]heddle.PartStatus{}
	for _, p := range all {
		if p.Name != heddle.PartEndpoints {
			m[p.Name] = p
		}
	}
	return m
}

// peerChanges returns the events for peers that came, went or changed, and for their paths. It is
// a pure function.
func peerChanges(old, now map[string]heddle.PeerStatus) (all []events.Event) {
	add := func(k events.Kind, what events.Action, p heddle.PeerStatus, detail string) {
		all = append(all, events.Event{Kind: k, Action: what, Object: p.Name, Detail: detail})
	}
	for _, id := range slices.Sorted(maps.Keys(old)) {
		if _, there := now[id]; !there {
			add(events.Peer, events.Removed, old[id], "")
		}
	}
	for _, id := range slices.Sorted(maps.Keys(now)) {
		p := now[id]
		before, known := old[id]
		switch {
		case !known:
			add(events.Peer, events.Created, p, "store: "+p.Store)
		case before.Name != p.Name || before.Underlay != p.Underlay || before.Store != p.Store:
			add(events.Peer, events.Updated, p, "store: "+p.Store)
		}
		switch {
		case before.State == p.State:
		case p.State == string(peer.Up):
			add(events.Path, events.Up, p, "")
		case p.State != string(peer.Unknown):
			add(events.Path, events.Down, p, p.State)
		}
	}
	return all
}

// partChanges returns the events for parts of the status whose state has changed. It is a pure
// function.
func partChanges(old, now map[string]heddle.PartStatus) (all []events.Event) {
	state := func(p heddle.PartStatus) string {
		if p.State == "" {
			return "ok" // a part that is missing is ok
		}
		return p.State
	}
	names := maps.Clone(old)
	maps.Copy(names, now)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		before, is := state(old[name]), state(now[name])
		e := events.Event{Kind: events.Trouble, Object: name, Action: events.Updated,
			Detail: is + ": " + now[name].Detail}
		switch {
		case before == is:
			continue
		case before == "ok":
			e.Action = events.Began
		case is == "ok":
			e.Action, e.Detail = events.Ended, ""
		}
		all = append(all, e)
	}
	return all
}
