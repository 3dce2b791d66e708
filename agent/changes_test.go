package agent

import (
	"fmt"
	"slices"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/events"
)

func words(all []events.Event) (text []string) {
	for _, e := range all {
		text = append(text, fmt.Sprintf("%s %s %s %s", e.Kind, e.Object, e.Action, e.Detail))
	}
	return text
}

func TestPeerChanges(t *testing.T) {
	p := func(name, state, store string) heddle.PeerStatus {
		return heddle.PeerStatus{ID: "id-" + name, Name: name, State: state, Store: store}
	}
	old := byID([]heddle.PeerStatus{p("away", "up", "alive"), p("same", "up", "alive"), p("silent", "up", "alive"),
		p("up", "unknown", "away")})
	now := byID([]heddle.PeerStatus{p("new", "unknown", "alive"), p("same", "up", "alive"),
		p("silent", "silent", "away"), p("up", "up", "away")})
	got := words(peerChanges(old, now))
	want := []string{"peer away removed ", "peer new created store: alive", "peer silent updated store: away",
		"path silent down silent", "path up up "}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestPartChanges(t *testing.T) {
	part := func(name, state string) heddle.PartStatus {
		return heddle.PartStatus{Name: name, State: state, Detail: "why"}
	}
	old := byName([]heddle.PartStatus{part("a", "ok"), part("b", "warn"), part("c", "bad"), part("d", "ok"),
		part("e", "bad")})
	now := byName([]heddle.PartStatus{part("a", "bad"), part("b", "ok"), part("c", "warn"), part("d", "ok"),
		part("f", "warn"), part(heddle.PartEndpoints, "warn")})
	got := words(partChanges(old, now))
	want := []string{"trouble a began bad: why", "trouble b ended ", "trouble c updated warn: why", "trouble e ended ",
		"trouble f began warn: why"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
