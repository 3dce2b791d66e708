package event_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/event"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/impair"
	"github.com/heddle-network/heddle/test/poll"
)

var lossy = &scenario.Link{Impairment: impair.Impairment{Loss: 0.05}}

// TestScenario: events begin and end in their order, and are written down.
func TestScenario(t *testing.T) {
	var book bytes.Buffer
	s := &stage{}
	x := event.Begin(read(t, `
events:
  - {at: 60ms, for: 20ms, service: web, fault: silent}
  - {at: 0s, for: 20ms, service: mail, fault: down}
  - {at: 20ms, for: 20ms, persona: far, link: {loss: 5%}}
  - {at: 40ms, for: 10ms, gather: browse, share: 50%}
  - {at: 9m, for: 10ms, service: web, fault: down}
`), s, &diary.Recorder{To: &book})
	poll.For(t, time.Minute, time.Millisecond, "the last one but one ends", func() bool {
		all := x.Happened()
		return len(all) == 4 && all[3].Ended > 0
	})
	all, err := x.End()
	if err != nil {
		t.Error(err)
	}
	for thing, want := range map[string][]string{"mail": {"mail down", "mail"}, "far": {"far loss 5%", "far delay 30ms"}, "web": {"web silent", "web"}} {
		if of := slices.DeleteFunc(slices.Clone(s.done), func(d string) bool { return !strings.HasPrefix(d, thing) }); !slices.Equal(of, want) {
			t.Errorf("%s: %q", thing, of)
		}
	}
	numbers := []int{}
	for _, e := range all {
		numbers = append(numbers, e.Number)
		if e.Began < e.At || e.Ended < e.At+e.For || e.ByHand {
			t.Errorf("%+v", e)
		}
	}
	if !slices.Equal(numbers, []int{2, 3, 4, 1}) {
		t.Errorf("%v", numbers)
	}
	begun, ended := 0, 0
	for line := range strings.Lines(book.String()) {
		var l diary.Line
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.Event == nil {
			t.Fatalf("%v: %s", err, line)
		}
		if l.Event.Ended > 0 {
			ended++
		} else {
			begun++
		}
	}
	if begun != 4 || ended != 4 {
		t.Errorf("%d begin, %d end\n%s", begun, ended, book.String())
	}
}

// TestByHand: a fault that is given by hand comes before that of the scenario, and is replaced by the next one. What the
// crowd cannot do is refused, and changes nothing. Between rounds there is nobody.
func TestByHand(t *testing.T) {
	var book bytes.Buffer
	s, c := &stage{}, &event.Control{}
	do := func(told event.Command) ([]diary.Event, error) { done, err := c.Do(told); return done.Events, err }
	begin := func(e scenario.Event) ([]diary.Event, error) { return do(event.Command{Begin: &e}) }
	mail := scenario.Event{Service: "mail", Fault: scenario.Silent}
	if _, err := begin(mail); err == nil || !strings.Contains(err.Error(), "nothing is being played") {
		t.Error(err)
	}
	x := event.Begin(read(t, "events: [{at: 0s, for: 10m, service: mail, fault: down}]\n"), s, &diary.Recorder{To: &book})
	leave := c.Lead(x, nil)
	s.awaits(t, "mail down")
	if on, err := begin(mail); err != nil || len(on) != 2 || !on[1].ByHand || on[0].ByHand {
		t.Errorf("%v, %+v", err, on)
	}
	for _, wrong := range []event.Command{{}, {Begin: &mail, Clear: true}, {Clear: true, Scale: 3}, {Begin: &scenario.Event{Service: "chat", Fault: scenario.Down}},
		{Begin: &scenario.Event{Persona: "near", Link: lossy}}, {Begin: &scenario.Event{Gather: "browse", Share: 1, For: 1}}} {
		if on, err := do(wrong); !errors.Is(err, heddle.BadArgument.Sentinel()) || on != nil {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	mail.Fault = scenario.Down
	if on, err := begin(mail); err != nil || len(on) != 2 || on[1].Fault != scenario.Down {
		t.Errorf("%v, %+v", err, on)
	}
	if _, err := begin(scenario.Event{Persona: "far", Link: lossy, For: time.Millisecond}); err != nil {
		t.Error(err)
	}
	s.awaits(t, "mail down", "mail silent", "mail down", "far loss 5%", "far delay 30ms")
	if on, err := do(event.Command{Clear: true}); err != nil || len(on) != 1 || on[0].ByHand {
		t.Errorf("%v, %+v", err, on)
	}
	s.awaits(t, "mail down", "mail silent", "mail down", "far loss 5%", "far delay 30ms", "mail down")
	if _, err := begin(scenario.Event{Service: "web", Fault: scenario.Down}); err != nil {
		t.Error(err)
	}
	leave()
	all, err := x.End()
	if err != nil || len(all) != 5 || all[4].Ended <= all[4].Began {
		t.Errorf("%v: %+v", err, all)
	}
	if n := strings.Count(book.String(), `"byHand":true`); n != 8 {
		t.Errorf("%d lines are of faults by hand\n%s", n, book.String())
	}
	if _, err := c.Do(event.Command{Clear: true}); err == nil {
		t.Error("a round that has ended is told something")
	}
}

// TestScaler: a scale goes to who scales, and does not keep faults waiting; between rounds there is nobody.
func TestScaler(t *testing.T) {
	s, c := &stage{}, &event.Control{}
	if _, err := c.Do(event.Command{Scale: 3}); err == nil || !strings.Contains(err.Error(), "nothing is being played") {
		t.Error(err)
	}
	x := event.Begin(read(t, ""), s, nil)
	begun, free := make(chan struct{}), make(chan struct{})
	leave := c.Lead(x, scaler(func(users int) (diary.Scale, error) {
		close(begun)
		<-free
		return diary.Scale{From: 4, To: users}, nil
	}))
	scaled := make(chan event.Done)
	go func() {
		done, err := c.Do(event.Command{Scale: 3})
		if err != nil {
			t.Error(err)
		}
		scaled <- done
	}()
	<-begun
	if _, err := c.Do(event.Command{Begin: &scenario.Event{Service: "mail", Fault: scenario.Silent}}); err != nil {
		t.Error(err)
	}
	leave()
	close(free)
	if done := <-scaled; done.Scale == nil || *done.Scale != (diary.Scale{From: 4, To: 3}) {
		t.Errorf("%+v", done)
	}
	if _, err := c.Do(event.Command{Scale: 3}); err == nil {
		t.Error("a round that has ended is scaled")
	}
	x.End()
}

// scaler scales as the function says.
type scaler func(int) (diary.Scale, error)

func (f scaler) Scale(users int) (diary.Scale, error) { return f(users) }

// TestBroken: a round has the error of a service that does not come back when an event ends.
func TestBroken(t *testing.T) {
	x := event.Begin(read(t, "events: [{at: 0s, for: 1ms, service: mail, fault: down}]\n"), &stage{broken: "mail"}, nil)
	poll.For(t, time.Minute, time.Millisecond, "it ends", func() bool { all := x.Happened(); return len(all) == 1 && all[0].Ended > 0 })
	if _, err := x.End(); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Error(err)
	}
}

// TestBrokenByHand: that a service does not come back is told to who clears its fault, and the round has the error, too.
func TestBrokenByHand(t *testing.T) {
	c := &event.Control{}
	x := event.Begin(read(t, ""), &stage{broken: "mail"}, nil)
	defer c.Lead(x, nil)()
	if _, err := c.Do(event.Command{Begin: &scenario.Event{Service: "mail", Fault: scenario.Silent}}); err != nil {
		t.Error(err)
	}
	if _, err := c.Do(event.Command{Clear: true}); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Error(err)
	}
	if _, err := x.End(); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Error(err)
	}
}
