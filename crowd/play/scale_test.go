package play

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/link"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/socket"
	"github.com/heddle-network/heddle/crowd/tally"
	"github.com/heddle-network/heddle/test/poll"
)

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// TestScale: users who come begin what they have planned from then on, those who go end what they have under way, and
// calls with them; nothing of it fails. Who comes again goes on with the plan.
func TestScale(t *testing.T) {
	const people = `
crowd: people
users: 8
clock: {start: "Mon 09:00", length: 3s}
services: {chat: {sites: 1}, voice: {between: 8}}
personas:
  one: {share: 100%, does: {read: 60/m, talk: 30/m, stay: 30/m, watch: 20/m}}
behaviours:
  read: {start: page, states: {page: {do: web.page, sends: 300B, receives: 10KB, expect: 5ms, next: {end: 1}}}}
  talk: {start: call, states: {call: {do: voice.call, sends: 160B, receives: 160B, every: 20ms, lasts: 1h, next: {end: 1}}}}
  stay:
    start: connect
    states:
      connect: {do: chat.connect, sends: 100B, receives: 100B, keep: true, expect: 5ms, think: 50ms, next: {message: 1}}
      message: {do: chat.message, sends: 50B, receives: 50B, connections: 0, expect: 5ms, think: 50ms, next: {message: 1, end: 0.000001}}
  watch: {start: play, states: {play: {do: video.play, sends: 300B, receives: 10KB, every: 200ms, lasts: 1h, next: {end: 1}}}}
`
	users, services := seats(t, 8, "web", "chat", "video", "voice")
	s, err := scenario.Parse([]byte(people))
	if err != nil {
		t.Fatal(err)
	}
	p := plan.New(s, nil)
	starts := func(first, last int) []plan.Start {
		all, err := p.StartsOf(context.Background(), first, last)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	begin := starts(1, 4)
	intended := map[string]int64{}
	for _, at := range begin {
		intended[p.Behaviour(at)]++
	}
	var book bytes.Buffer
	count := tally.New(intended)
	player := New(Options{Plan: p, Users: users[:4], Services: services, Length: 3 * time.Second, Tally: count, Diary: &diary.Recorder{To: &book}}, begin)
	over := make(chan struct{})
	go func() {
		defer close(over)
		player.Play(context.Background())
	}()
	played := func() time.Duration { return time.Since(player.start) }
	until := func(n int) {
		poll.For(t, time.Minute, time.Millisecond, "the crowd plays on", func() bool { return played() >= ms(n) })
	}
	until(400)
	came := played()
	if !player.Join(users[4:], starts(5, 8)) {
		t.Fatal("nobody joins")
	}
	until(1400)
	if r := count.Result(); r.Sessions().Left > 0 {
		t.Errorf("%+v", r.Sessions())
	}
	player.Leave(2)
	left := played()
	if gone := count.Result().Sessions(); gone.Left == 0 {
		t.Errorf("nobody was taken away from anything: %+v", gone)
	}
	until(2000)
	again := played()
	if !player.Join(users[2:4], starts(3, 4)) {
		t.Fatal("nobody joins again")
	}
	<-over
	if player.Join(users[4:], starts(5, 8)) {
		t.Error("somebody joins when all is over")
	}
	r := count.Result()
	if sum := r.Sessions(); sum.Intended != sum.Started || sum.GoOn() != 0 || sum.Failed+sum.GivenUp != 0 || len(r.Failures) > 0 || sum.Achieved == 0 {
		t.Errorf("%+v, %+v", sum, r.Failures)
	}
	if talk := r.Behaviours["talk"]; talk.Left == 0 || r.Calls.Count < talk.Achieved || r.Calls.Count > talk.Achieved+talk.Unfinished {
		t.Errorf("calls that one was taken from are rated: %+v, %+v", r.Calls, r.Behaviours["talk"])
	}
	did := map[int]int{}
	for line := range strings.Lines(book.String()) {
		var l diary.Line
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Step == nil {
			continue
		}
		did[l.Step.User]++
		switch b := l.Step.Begun; {
		case l.Step.User > 4 && (b < came || b > left), l.Step.User > 2 && b > left && b < again:
			t.Errorf("who is not there does something, from %s on, gone at %s, here again at %s: %+v", came, left, again, l.Step)
		}
	}
	if len(did) != 8 {
		t.Errorf("not everybody did something: %v", did)
	}
}

// TestLeaveEnds: of a user who is taken out of the crowd amid sessions, nothing keeps the namespace: no connection on either
// side, and no link.
func TestLeaveEnds(t *testing.T) {
	const people = `
crowd: people
users: 1
clock: {start: "Mon 09:00", length: 10m}
personas: {one: {share: 100%, link: {delay: 20ms}}}
behaviours:
  read: {start: page, states: {page: {do: web.page, sends: 100B, receives: 1MB, connections: 4, expect: 5ms, next: {page: 1, end: 0.000001}}}}
  type:
    start: login
    states:
      login: {do: shell.login, sends: 100B, receives: 100B, keep: true, expect: 5ms, think: 10ms, next: {key: 1}}
      key: {do: shell.key, sends: 100B, receives: 100B, connections: 0, expect: 5ms, think: 10ms, next: {key: 1, end: 0.000001}}
events:
  - {at: 0s, for: 10ms, gather: read, share: 100%}
  - {at: 0s, for: 10ms, gather: type, share: 100%}
`
	s, err := scenario.Parse([]byte(people))
	if err != nil {
		t.Fatal(err)
	}
	w := newTown(t, s.Uses()...)
	w.Link("one", *s.Personas["one"].Link)
	p := plan.New(s, nil)
	starts, err := p.Starts(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	count := tally.New(map[string]int64{"read": 1, "type": 1})
	player := New(Options{Plan: p, Users: []Seat{w.user}, Services: w.services, Length: 10 * time.Minute, Tally: count}, starts)
	over := make(chan struct{})
	go func() {
		defer close(over)
		player.Play(context.Background())
	}()
	poll.For(t, time.Minute, time.Millisecond, "the user does both", func() bool {
		did := count.Result().Actions
		return did["shell.key"].Count > 2 && did["web.page"].Count > 2
	})
	player.Leave(0)
	<-over
	w.guests.Dismiss(w.user.Addrs...)
	for _, server := range w.servers {
		server.Sweep()
	}
	if err := link.EndOrphans(w.user.Namespace); err != nil {
		t.Error(err)
	}
	w.links.Take(1)
	if err := socket.Drop(w.user.Namespace); err != nil {
		t.Fatal(err)
	}
	poll.For(t, time.Minute, time.Millisecond, "the user's namespace ended", func() bool {
		out, err := exec.Command("nsenter", "--net="+w.far.Path(), "ip", "link").CombinedOutput()
		return err == nil && !strings.Contains(string(out), "eth0")
	})
	if sum := count.Result().Sessions(); sum.Left != 2 || sum.GoOn() != 0 {
		t.Errorf("%+v", sum)
	}
}

// TestStay: a crowd that has nothing to do is over, unless it stays for others, until its length.
func TestStay(t *testing.T) {
	s, err := scenario.Parse([]byte("crowd: idle\nusers: 1\nclock: {start: \"Mon 09:00\", length: 1s}\npersonas: {one: {share: 100%}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	player := func() *Player {
		return New(Options{Plan: plan.New(s, nil), Users: make([]Seat, 1), Length: time.Second, Tally: tally.New(nil)}, nil)
	}
	p := player()
	p.Play(context.Background())
	if p.Join(make([]Seat, 1), nil) {
		t.Error("somebody joins a crowd that is over")
	}
	p = player()
	p.Stay()
	over := make(chan struct{})
	go func() {
		defer close(over)
		p.Play(context.Background())
	}()
	p.Leave(0)
	if !p.Join(make([]Seat, 1), nil) {
		t.Error("nobody joins a crowd that stays")
	}
	<-over
	if p.Join(nil, nil) {
		t.Error("it stays for ever")
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	p = player()
	p.Stay()
	p.Play(ended)
	if p.Join(nil, nil) {
		t.Error("a crowd that was ended goes on")
	}
}
