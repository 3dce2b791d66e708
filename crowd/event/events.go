// Package event has events happen while a crowd plays: those of its scenario, and faults that are given by hand.
package event

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// Stage is what faults are given to.
type Stage interface {
	// Fault gives a service a fault; scenario.Sound ends it.
	Fault(service string, as scenario.Fault) error
	// Link gives the users of a persona a link.
	Link(persona string, as scenario.Link) error
}

// Events are those of a round that is being played.
type Events struct {
	scenario scenario.Scenario
	stage    Stage
	diary    *diary.Recorder
	begun    time.Time

	mu     sync.Mutex
	next   []int         // events of the scenario, from 0, that have not begun, in the order of time
	all    []diary.Event // those that have begun
	failed error
	look   chan struct{} // what is due next may be another one
	stop   chan struct{}
	ended  chan struct{}
}

// Begin begins a round now.
func Begin(s scenario.Scenario, stage Stage, d *diary.Recorder) *Events {
	x := &Events{scenario: s, stage: stage, diary: d, begun: time.Now(), look: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{})}
	for i := range s.Events {
		x.next = append(x.next, i)
	}
	slices.SortStableFunc(x.next, func(a, b int) int { return cmp.Compare(s.Events[a].At, s.Events[b].At) })
	go x.run()
	return x
}

// run has events begin and end when they are due, until it is stopped.
func (x *Events) run() {
	defer close(x.ended)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-x.look:
		case <-x.stop:
			return
		}
		timer.Reset(time.Until(x.begun.Add(x.pass())))
	}
}

// pass ends and begins what is due, and returns when something will be, since the round began.
func (x *Events) pass() time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Since(x.begun)
	var changed []scenario.Event
	for i, e := range x.all {
		if e.Ended == 0 && e.For > 0 && e.At+e.For <= now {
			x.end(i, now)
			changed = append(changed, e.Event)
		}
	}
	for len(x.next) > 0 && x.scenario.Events[x.next[0]].At <= now {
		e := x.scenario.Events[x.next[0]]
		x.add(diary.Event{Event: e, Number: x.next[0] + 1, Began: now})
		x.next = x.next[1:]
		changed = append(changed, e)
	}
	for _, e := range changed {
		if err := x.put(e); err != nil {
			x.failed = errors.Join(x.failed, err)
		}
	}
	return x.due()
}

// due is when the next event begins or ends, since the round began.
func (x *Events) due() time.Duration {
	at := time.Duration(1<<63 - 1)
	if len(x.next) > 0 {
		at = x.scenario.Events[x.next[0]].At
	}
	for _, e := range x.all {
		if e.Ended == 0 && e.For > 0 {
			at = min(at, e.At+e.For)
		}
	}
	return at
}

func (x *Events) add(e diary.Event) {
	x.all = append(x.all, e)
	x.diary.Event(e)
}

func (x *Events) end(i int, now time.Duration) {
	x.all[i].Ended = max(now, 1)
	x.diary.Event(x.all[i])
}

// put has the thing that an event is about be as it now is: as said by hand, or else as the scenario's event has it, or
// else as it is by itself.
func (x *Events) put(about scenario.Event) error {
	as := scenario.Event{}
	byHand := false
	for _, e := range x.all {
		if e.Ended == 0 && e.SameThing(about) && (e.ByHand || !byHand) {
			as, byHand = e.Event, e.ByHand
		}
	}
	switch {
	case about.Service != "":
		return x.stage.Fault(about.Service, as.Fault)
	case about.Link == nil: // who gathers is in the plan
		return nil
	case as.Link == nil:
		as.Link = x.scenario.Personas[about.Persona].Link
	}
	return x.stage.Link(about.Persona, *as.Link)
}

// Happened lists the events that have begun, in the order of time.
func (x *Events) Happened() []diary.Event {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.all)
}

// End ends all events with the round, and returns what has happened. An error is why the events were not what they should
// have been.
func (x *Events) End() ([]diary.Event, error) {
	close(x.stop)
	<-x.ended
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Since(x.begun)
	for i, e := range x.all {
		if e.Ended == 0 {
			x.end(i, now)
		}
	}
	return slices.Clone(x.all), x.failed
}
