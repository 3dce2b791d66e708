package play

import (
	"context"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/event"
	"github.com/heddle-network/heddle/crowd/link"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/service"
	"github.com/heddle-network/heddle/crowd/socket"
	"github.com/heddle-network/heddle/test/namespace"
)

// town is a user with a link in one namespace, and services in another.
type town struct {
	t        *testing.T
	holder   *socket.Holder
	far      socket.Namespace // of the services
	guests   *service.Guests
	user     Seat
	services map[string]Seat
	servers  map[string]*service.Server
	links    link.Links
}

func newTown(t *testing.T, services ...string) *town {
	t.Helper()
	holder := namespace.Holder(t)
	w := &town{t: t, holder: holder, guests: &service.Guests{}, services: map[string]Seat{}, servers: map[string]*service.Server{}}
	near, far := namespace.In(t, holder), namespace.In(t, holder)
	ip := func(n socket.Namespace, args string) {
		if out, err := exec.Command("nsenter", append([]string{"--net=" + n.Path(), "ip"}, strings.Fields(args)...)...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", args, err, out)
		}
	}
	ip(near, "link add eth0 type veth peer name eth0 netns "+far.Path())
	ip(near, "address add 10.9.0.1/24 dev eth0")
	ip(near, "link set eth0 up")
	ip(far, "link set eth0 up")
	w.far = far
	w.guests.Admit(netip.MustParseAddr("10.9.0.1"))
	for i, name := range services {
		at := netip.AddrFrom4([4]byte{10, 9, 0, byte(100 + i)})
		ip(far, "address add "+at.String()+"/24 dev eth0")
		s := &service.Server{Guests: w.guests}
		if err := s.Serve(func() (net.Listener, error) { return far.Listen(netip.AddrPortFrom(at, service.Port)) }); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		w.services[name], w.servers[name] = Seat{Namespace: far, Addrs: []netip.Addr{at}}, s
	}
	w.user = Seat{Namespace: near, Addrs: []netip.Addr{netip.MustParseAddr("10.9.0.1")}}
	if err := w.links.Put(near, "eth0", scenario.Link{}, 1, 1); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.links.Close)
	return w
}

func (w *town) Fault(name string, as scenario.Fault) error {
	return w.servers[name].Set(map[scenario.Fault]service.State{scenario.Down: service.Down, scenario.Silent: service.Silent}[as])
}

func (w *town) Link(_ string, as scenario.Link) error {
	if !w.links.Change(as, 1, 1) {
		w.t.Error("there is no link")
	}
	return nil
}

// TestEvents: a service that goes resets who is connected and refuses who comes, one that is silent answers later, on a
// link that is another one people wait longer; and after each all is as it was.
func TestEvents(t *testing.T) {
	const people = `
crowd: people
users: 1
seed: 3
clock: {start: "Mon 09:00", length: 3s}
personas: {one: {share: 100%, link: sound}}
behaviours:
  read: {start: page, states: {page: {do: web.page, sends: 100B, receives: 1KB, expect: 5ms, think: 20ms, next: {page: 1, end: 0.000001}}}}
  type:
    start: login
    states:
      login: {do: shell.login, sends: 100B, receives: 100B, keep: true, expect: 5ms, next: {key: 1}}
      key: {do: shell.key, sends: 100B, receives: 100B, connections: 0, expect: 5ms, think: 20ms, next: {key: 1, end: 0.000001}}
  look: {start: look, states: {look: {do: search.query, sends: 100B, receives: 100B, expect: 5ms, think: 20ms, next: {look: 1, end: 0.000001}}}}
  get: {start: get, states: {get: {do: files.get, sends: 100B, receives: 1KB, expect: 5ms, think: 20ms, next: {get: 1, end: 0.000001}}}}
events:
  - {at: 0s, for: 100ms, gather: read, share: 100%}
  - {at: 0s, for: 100ms, gather: type, share: 100%}
  - {at: 0s, for: 100ms, gather: look, share: 100%}
  - {at: 0s, for: 100ms, gather: get, share: 100%}
  - {at: 1s, for: 500ms, service: web, fault: down}
  - {at: 1s, for: 500ms, service: shell, fault: down}
  - {at: 1s, for: 500ms, service: search, fault: silent}
  - {at: 2s, for: 500ms, persona: one, link: {delay: 60ms}}
  - {at: 2600ms, for: 300ms, gather: read, share: 100%}
`
	s, p, starts, count := planned(t, people)
	w := newTown(t, s.Uses()...)
	player := New(Options{Plan: p, Users: []Seat{w.user}, Services: w.services, Length: time.Duration(s.Clock.Length), Tally: count}, starts)
	events := event.Begin(s, w, nil)
	player.Play(context.Background())
	happened, err := events.End()
	if err != nil || len(happened) != 9 {
		t.Errorf("%v: %+v", err, happened)
	}
	r := count.Result()
	why := map[string]int64{}
	for _, f := range r.Failures {
		why[f.Why] = f.Count
	}
	if why["web.page: connection refused"]+why["web.page: connection reset by peer"] == 0 || why["shell.key: connection reset by peer"] == 0 {
		t.Errorf("%v", why)
	}
	for reason := range why {
		if !strings.HasPrefix(reason, "web.") && !strings.HasPrefix(reason, "shell.") {
			t.Errorf("what is not down failed: %s", reason)
		}
	}
	if waited := r.Actions["search.query"].Service; waited.Max < 200*time.Millisecond {
		t.Errorf("of a silent service people waited %+v", waited)
	}
	if waited := r.Actions["files.get"].Service; waited.Max < 240*time.Millisecond {
		t.Errorf("on a slow link people waited %+v", waited)
	}
	if read := r.Behaviours["read"]; read.Started != 2 || read.Failed != 1 {
		t.Errorf("nobody reads after the service is back: %+v", read)
	}
}
