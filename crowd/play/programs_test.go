package play

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/container"
	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/program"
	"github.com/heddle-network/heddle/crowd/protocol"
	"github.com/heddle-network/heddle/crowd/tally"
	"github.com/heddle-network/heddle/test/poll"
)

// byProgram puts a program in the place of a service, in the namespace of the seats, and waits until it answers.
func byProgram(t *testing.T, seat Seat, by string, set program.Setting) (Seat, *container.Container) {
	t.Helper()
	found, err := program.Find(by)
	if err != nil {
		t.Fatal(err)
	}
	set.Service, set.Host, set.Addrs, set.Admits, set.Connections = "web", "crowd-web", seat.Addrs, seat.Addrs, 100
	runs, speaks, err := found.Prepare(set)
	if err != nil {
		t.Fatal(err)
	}
	c, err := container.Start(seat.Namespace, runs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for _, one := range protocol.All(speaks) {
		for _, a := range seat.Addrs {
			_, err := poll.Until(time.Minute, 5*time.Millisecond, func() error {
				probe, err := seat.Namespace.Connect(t.Context(), one.Network(), netip.AddrPortFrom(a, one.Port()), func(netip.AddrPort) {})
				if err != nil {
					return err
				}
				defer probe.Close()
				ready, err := one.Begin(t.Context(), probe)
				if err == nil {
					err = one.Ask(ready, protocol.Request{Site: 1})
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	seat.Speaks = speaks
	return seat, c
}

const writers = `
crowd: writers
users: 8
clock: {start: "Mon 09:00", length: 3s}
services: {chat: {sites: 4}}
personas:
  one: {share: 100%, does: {write: 30/m, order: 20/m, ask: 20/m}}
behaviours:
  write:
    start: connect
    states:
      connect:
        {do: chat.connect, sends: 256B, receives: 2KB, keep: true, expect: 5ms, mistakes: {password: {chance: 50%, again: 10ms}}, next: {message: 1}}
      message: {do: chat.message, sends: 150B, receives: 64B, connections: 0, expect: 5ms, think: 20ms, next: {message: 0.8, end: 0.2}}
  order:
    start: job
    states:
      job: {do: print.job, sends: 2MB, receives: 128B, expect: 5ms, next: {end: 1}}
  ask:
    start: ticket
    states:
      ticket: {do: domain.ticket, sends: 1500B, receives: 3MB, more: {count: 3, receives: 2KB}, connections: 2, expect: 5ms, next: {end: 1}}
`

// TestRedis: all that is planned happens, with and without TLS, over as many connections as planned.
func TestRedis(t *testing.T) {
	inBothWays(t, writers, "redis", "chat", "print", "domain")
}

const operators = `
crowd: operators
users: 8
clock: {start: "Mon 09:00", length: 3s}
services: {shell: {sites: 4}}
personas:
  one: {share: 100%, does: {type: 20/m, list: 20/m}}
behaviours:
  type:
    start: login
    states:
      login:
        {do: shell.login, sends: 3KB, receives: 4KB, keep: true, expect: 5ms, mistakes: {password: {chance: 50%, again: 10ms}}, next: {key: 1}}
      key: {do: shell.key, sends: 36B, receives: 44B, connections: 0, expect: 5ms, think: 20ms, next: {key: 0.8, end: 0.2}}
  list:
    start: all
    states:
      all: {do: shell.login, sends: 200KB, receives: 3MB, more: {count: 3, receives: 2KB}, connections: 2, expect: 5ms, next: {end: 1}}
`

// TestShells: all that is planned happens with openssh, over as many connections as planned.
func TestShells(t *testing.T) {
	t.Parallel()
	happens(t, operators, "openssh", program.Setting{}, "shell")
}

const correspondents = `
crowd: correspondents
users: 8
clock: {start: "Mon 09:00", length: 3s}
personas:
  one: {share: 100%, does: {read: 30/m, list: 20/m}}
behaviours:
  read:
    start: login
    states:
      login:
        {do: mail.login, sends: 64B, receives: 256B, keep: true, expect: 5ms, mistakes: {password: {chance: 50%, again: 10ms}}, next: {check: 1}}
      check: {do: mail.check, sends: 128B, receives: 2KB, connections: 0, expect: 5ms, think: 20ms, next: {send: 0.4, fetch: 0.6}}
      fetch: {do: mail.fetch, sends: 64B, receives: 200KB, connections: 0, expect: 5ms, think: 20ms, next: {check: 0.5, end: 0.5}}
      send: {do: mail.send, sends: 300KB, receives: 256B, expect: 5ms, mistakes: {password: {chance: 20%, again: 10ms}}, next: {fetch: 1}}
  list:
    start: all
    states:
      all: {do: mail.fetch, sends: 1KB, receives: 3MB, more: {count: 3, receives: 2KB}, connections: 2, expect: 5ms, next: {end: 1}}
`

// TestMails: all that is planned happens with dovecot, with and without TLS: mail is read over connections that are kept, and sent over others.
func TestMails(t *testing.T) {
	inBothWays(t, correspondents, "dovecot", "mail")
}

// inBothWays plays a scenario with and without TLS.
func inBothWays(t *testing.T, text, by string, names ...string) {
	t.Helper()
	authority, err := program.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]*program.Authority{"plain": nil, "TLS": authority} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			happens(t, text, by, program.Setting{Authority: a}, names...)
		})
	}
}

// happens plays a scenario with services by a program, and compares what happened with what was planned.
func happens(t *testing.T, text, by string, set program.Setting, names ...string) tally.Result {
	t.Helper()
	users, services := seats(t, 8, "web")
	one, _ := byProgram(t, services["web"], by, set)
	for _, name := range names {
		services[name] = one
	}
	var book strings.Builder
	r, starts := recorded(t, text, users, services, 30*time.Second, &diary.Recorder{To: &book})
	var achieved int64
	for name, s := range r.Behaviours {
		if s.Intended == 0 || s.Achieved != s.Intended {
			t.Errorf("%s: %+v", name, s)
		}
		achieved += s.Achieved
	}
	if int(achieved) != starts || len(r.Failures) > 0 {
		t.Errorf("%d of %d, %v", achieved, starts, r.Failures)
	}
	if opened, want := strings.Count(book.String(), `{"flow":{`), connections(t, text); opened != want {
		t.Errorf("%d connections were opened, and %d planned", opened, want)
	}
	return r
}
