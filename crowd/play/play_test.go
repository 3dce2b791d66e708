package play

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/service"
	"github.com/heddle-network/heddle/crowd/socket"
	"github.com/heddle-network/heddle/crowd/tally"
	"github.com/heddle-network/heddle/test/namespace"
)

// seats are users and services that live in one namespace, on its loopback.
func seats(t *testing.T, users int, services ...string) (all []Seat, by map[string]Seat) {
	t.Helper()
	n := namespace.New(t)
	seat := Seat{Namespace: n, Addrs: []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")}}
	server := &service.Server{Guests: &service.Guests{}}
	server.Guests.Admit(seat.Addrs...)
	for _, a := range seat.Addrs {
		if err := server.Serve(func() (net.Listener, error) { return n.Listen(netip.AddrPortFrom(a, service.Port)) }); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(server.Close)
	by = map[string]Seat{}
	for _, name := range services {
		by[name] = seat
	}
	for range users {
		all = append(all, seat)
	}
	return all, by
}

// played plays a scenario, and returns what it came to.
func played(t *testing.T, text string, users []Seat, services map[string]Seat, grace time.Duration) (tally.Result, int) {
	t.Helper()
	return recorded(t, text, users, services, grace, nil)
}

// planned draws a scenario's plan, and begins to count what becomes of it.
func planned(t *testing.T, text string) (scenario.Scenario, *plan.Plan, []plan.Start, *tally.Tally) {
	t.Helper()
	s, err := scenario.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p := plan.New(s, nil)
	starts, err := p.Starts(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	intended := map[string]int64{}
	for _, at := range starts {
		intended[p.Behaviour(at)]++
	}
	return s, p, starts, tally.New(intended)
}

// recorded is played with a diary.
func recorded(t *testing.T, text string, users []Seat, services map[string]Seat, grace time.Duration, d *diary.Recorder) (tally.Result, int) {
	t.Helper()
	s, p, starts, count := planned(t, text)
	New(Options{Plan: p, Users: users, Services: services, Length: time.Duration(s.Clock.Length), Grace: grace, Tally: count, Diary: d}, starts).Play(context.Background())
	return count.Result(), len(starts)
}

const people = `
crowd: people
users: 8
clock: {start: "Mon 09:00", length: 3s}
services: {chat: {sites: 1}, voice: {between: 8}}
personas:
  one: {share: 100%, does: {read: 20/m, talk: 15/m, write: 15/m, watch: 10/m, again: 15/m}}
behaviours:
  read:
    start: page
    patience: 20s
    states:
      page: {do: web.page, sends: 300B, receives: 10KB, more: {count: 5, receives: 2KB}, connections: 2, expect: 5ms, next: {pause: 1}}
      pause: {think: 100ms, next: {page: 0.5, end: 0.5}}
  talk:
    start: call
    patience: 10s
    states:
      call: {do: voice.call, sends: 160B, receives: 160B, every: 20ms, lasts: 500ms, next: {end: 1}}
  write:
    start: connect
    states:
      connect:
        {do: chat.connect, sends: 100B, receives: 100B, keep: true, expect: 5ms, mistakes: {name: {chance: 50%, again: 10ms}, password: {chance: 50%, again: 10ms}}, next: {message: 1}}
      message: {do: chat.message, sends: 50B, receives: 50B, connections: 0, expect: 5ms, think: 20ms, next: {message: 0.8, end: 0.2}}
  watch:
    start: play
    states:
      play: {do: video.play, sends: 300B, receives: 100KB, every: 200ms, lasts: 1s, next: {end: 1}}
` + again

// TestPlay: what is planned happens, on a network where nothing fails.
func TestPlay(t *testing.T) {
	users, services := seats(t, 8, "web", "chat", "video", "voice")
	r, starts := played(t, people, users, services, 30*time.Second)
	sum := tally.Sessions{}
	for name, s := range r.Behaviours {
		if s.Intended == 0 || s.Achieved != s.Intended || s.Started != s.Intended {
			t.Errorf("%s: %+v", name, s)
		}
		sum = sum.Plus(s)
	}
	if int(sum.Intended) != starts || starts < 15 || len(r.Failures) > 0 {
		t.Errorf("%d sessions: %+v, %v", starts, sum, r.Failures)
	}
	if c := r.Calls; c.Count != r.Behaviours["talk"].Intended || c.MOSP50 <= 1 || c.Lost > 0.9 {
		t.Errorf("calls: %+v", c)
	}
	if v := r.Videos; v.Count != r.Behaviours["watch"].Intended || v.Start.Max == 0 {
		t.Errorf("videos: %+v", v)
	}
	if page := r.Actions["web.page"]; page.Count < r.Behaviours["read"].Intended || page.Apdex < 0.5 || page.Service.P50 == 0 {
		t.Errorf("pages: %+v", page)
	}
	cached(t, people, r)
}

// TestFails: sessions that meet a service that refuses, one that is silent, and a run that ends, are told apart.
func TestFails(t *testing.T) {
	users, services := seats(t, 8)
	gone, _ := seats(t, 1)
	services["web"] = Seat{Namespace: users[0].Namespace, Addrs: []netip.Addr{netip.MustParseAddr("127.0.0.2")}} // nobody listens
	for _, n := range []socket.Namespace{users[0].Namespace, gone[0].Namespace} {
		silent, err := n.Listen(netip.MustParseAddrPort("127.0.0.3:7600"))
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
	}
	for _, name := range []string{"chat", "video"} {
		services[name] = Seat{Namespace: users[0].Namespace, Addrs: []netip.Addr{netip.MustParseAddr("127.0.0.3")}}
	}
	for i := range users {
		if i%2 == 1 { // the others of pairs are not on this network
			users[i] = gone[0]
		}
	}
	r, _ := played(t, `
crowd: unlucky
users: 8
clock: {start: "Mon 09:00", length: 2s}
services: {chat: {sites: 1}, voice: {between: 2}}
personas:
  one: {share: 100%, does: {read: 20/m, write: 20/m, stay: 20/m, wait: 20/m, talk: 20/m, watch: 20/m}}
behaviours:
  read: {start: page, states: {page: {do: web.page, sends: 300B, receives: 10KB, expect: 5ms, next: {end: 1}}}}
  write:
    {start: connect, patience: 200ms, states: {connect: {do: chat.connect, sends: 100B, receives: 100B, expect: 5ms, next: {end: 1}}}}
  stay:
    {start: connect, patience: 200ms, states: {connect: {do: chat.connect, sends: 100B, receives: 100B, lasts: 1h, next: {end: 1}}}}
  wait: {start: connect, states: {connect: {do: chat.connect, sends: 100B, receives: 100B, expect: 5ms, next: {end: 1}}}}
  talk:
    {start: call, patience: 300ms, states: {call: {do: voice.call, sends: 160B, receives: 160B, every: 20ms, lasts: 1h, next: {end: 1}}}}
  watch:
    {start: play, patience: 200ms, states: {play: {do: video.play, sends: 300B, receives: 1KB, every: 200ms, lasts: 1h, next: {end: 1}}}}
`, users, services, 0)
	for name, of := range map[string]func(tally.Sessions) int64{
		"write": func(s tally.Sessions) int64 { return s.GivenUp }, "stay": func(s tally.Sessions) int64 { return s.GivenUp },
		"wait": func(s tally.Sessions) int64 { return s.Unfinished }} {
		if s := r.Behaviours[name]; s.Started == 0 || of(s)+s.Unfinished < s.Started || of(s) == 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if s := r.Behaviours["talk"]; s.GivenUp == 0 || s.Achieved > 0 || r.Calls.Count < s.GivenUp || r.Calls.MOSP50 != 1 || r.Calls.Lost != 1 {
		t.Errorf("talk: %+v, %+v", s, r.Calls)
	}
	if s := r.Behaviours["watch"]; s.GivenUp == 0 || s.GivenUp+s.Unfinished != s.Started || r.Videos.Never != s.GivenUp || r.Videos.Count > 0 {
		t.Errorf("watch: %+v, %+v", s, r.Videos)
	}
	if s := r.Behaviours["read"]; s.Failed == 0 || s.Failed+s.Unfinished != s.Started {
		t.Errorf("read: %+v", s)
	}
	if want := "web.page: connection refused"; len(r.Failures) != 1 || r.Failures[0].Why != want || r.Failures[0].Count != r.Actions["web.page"].Failed {
		t.Errorf("%+v", r.Failures)
	}
}
