package play

import (
	"context"
	"encoding/binary"
	"math"
	"net/netip"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/machine"
	"github.com/heddle-network/heddle/test/namespace"
	"github.com/heddle-network/heddle/test/poll"
)

// TestLine: an end of a call counts each packet of the other end, and nothing else: what a stranger has sent before the ends met,
// what is too short, and what says that it was sent later than now.
func TestLine(t *testing.T) {
	n, at, epoch := namespace.New(t), netip.MustParseAddr("127.0.0.1"), time.Now()
	var all [3]*line
	for i := range all {
		l, err := listen(n, at)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		all[i] = l
	}
	near, far, stranger := all[0], all[1], all[2]
	near.to, far.to, stranger.to = far.Addr(), near.Addr(), far.Addr()
	sound := make([]byte, 100)
	stranger.say(sound, epoch)
	far.say(sound, epoch) // the ends have met
	near.Send(sound[:callHeader-1], near.to)
	near.Send(binary.BigEndian.AppendUint64(nil, math.MaxInt64), near.to)
	const sent, most = 5, 100
	for range sent {
		near.say(sound, epoch)
	}
	poll.For(t, time.Minute, time.Millisecond, "all that was sent is heard", func() bool {
		far.hear(most, epoch)
		near.hear(most, epoch)
		return far.count >= sent && near.count == 1
	})
	if _, lost := far.Heard(sent); far.count != sent || lost > 0 || far.slowest <= 0 || far.slowest > time.Since(epoch) {
		t.Errorf("%d of %d packets, %.2f lost, the slowest in %s", far.count, sent, lost, far.slowest)
	}
}

// TestHearOut: packets that are on their way when a call ends are heard.
func TestHearOut(t *testing.T) {
	const people = `
crowd: people
users: 1
clock: {start: "Mon 09:00", length: 3s}
personas: {one: {share: 100%, link: {delay: 200ms}}}
behaviours:
  talk:
    start: page
    states:
      page: {do: web.page, sends: 100B, receives: 100B, expect: 5ms, next: {call: 1}}
      call: {do: voice.call, sends: 160B, receives: 160B, every: 20ms, lasts: 500ms, next: {end: 1}}
events:
  - {at: 0s, for: 10ms, gather: talk, share: 100%}
`
	s, p, starts, count := planned(t, people)
	w := newTown(t, s.Uses()...)
	w.Link("one", *s.Personas["one"].Link)
	w.services["voice"] = w.services["web"] // whose MAC address both know then
	New(Options{Plan: p, Users: []Seat{w.user}, Services: w.services, Length: time.Duration(s.Clock.Length), Tally: count}, starts).Play(context.Background())
	if c := count.Result().Calls; c.Count != 1 || c.Lost > 0.2 { // 0.4 would be on their way
		t.Errorf("%+v", c)
	}
}

// TestLineSkewed: what an end hears from a machine whose clock is ahead, or behind, is not later for that, and not forged.
func TestLineSkewed(t *testing.T) {
	n, at, epoch := namespace.New(t), netip.MustParseAddr("127.0.0.1"), time.Now().Add(-10*time.Second)
	for _, ahead := range []time.Duration{3 * time.Second, -3 * time.Second} {
		near, err := listen(n, at)
		if err != nil {
			t.Fatal(err)
		}
		defer near.Close()
		far, err := listen(n, at)
		if err != nil {
			t.Fatal(err)
		}
		defer far.Close()
		near.to, far.to = far.Addr(), near.Addr()
		near.clock = func() machine.Clock { return machine.Clock{Ahead: ahead, Within: time.Millisecond} }
		sound := make([]byte, 100)
		near.say(sound, epoch) // the ends have met
		far.say(sound, epoch.Add(-ahead))
		far.say(sound, epoch.Add(-ahead-time.Hour)) // forged: an hour from now
		poll.For(t, time.Minute, time.Millisecond, "what was sent is heard", func() bool {
			near.hear(9, epoch)
			return near.count == 1
		})
		if near.slowest > time.Second {
			t.Errorf("with a clock that is %s ahead, a packet took %s", ahead, near.slowest)
		}
		if near.hear(9, epoch); near.count != 1 {
			t.Errorf("with a clock that is %s ahead, %d packets count", ahead, near.count)
		}
	}
}
