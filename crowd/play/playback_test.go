package play

import (
	"net/netip"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/service"
	"github.com/heddle-network/heddle/crowd/tally"
)

// TestPlayback: when a video stands still.
func TestPlayback(t *testing.T) {
	const ms = time.Millisecond
	v := playback{each: time.Second}
	for _, at := range []time.Duration{300 * ms, 900 * ms, 2500 * ms, 3000 * ms, 4500 * ms} {
		v.arrive(at)
	}
	// Needed at 300 (begins), 1300, 2300 (200 ms late), 3500, 4500.
	if v.start != 300*ms || v.stalls != 1 || v.stalled != 200*ms || v.segments != 5 {
		t.Errorf("%+v", v)
	}
	// The sixth is needed at 5500. Three of those that are there are not shown at 2500.
	if v.wanted() != 2500*ms {
		t.Errorf("wanted at %s", v.wanted())
	}
	if v.end(5000 * ms); v.stalls != 1 {
		t.Errorf("a video that ended stood still: %+v", v)
	}
	if v.end(6000 * ms); v.stalls != 2 || v.stalled != 700*ms {
		t.Errorf("a video that stands still: %+v", v)
	}
	none := playback{each: time.Second}
	if none.end(time.Hour); none.stalls != 0 {
		t.Errorf("%+v", none)
	}
}

// TestAfterTheEnd: who would begin to talk or to watch when the run has ended does not.
func TestAfterTheEnd(t *testing.T) {
	users, services := seats(t, 2, "video", "voice")
	at := netip.MustParseAddr("127.0.0.4")
	slow, err := users[0].Namespace.Listen(netip.AddrPortFrom(at, service.Port))
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	go func() { // answers when the run has ended
		for {
			c, err := slow.Accept()
			if err != nil {
				return
			}
			time.AfterFunc(2*time.Second, func() { c.Write(make([]byte, 1000)) })
		}
	}()
	services["web"] = Seat{Namespace: users[0].Namespace, Addrs: []netip.Addr{at}}
	r, _ := played(t, `
crowd: latecomers
users: 2
clock: {start: "Mon 09:00", length: 1s}
services: {voice: {between: 2}}
personas: {one: {share: 100%, does: {talk: 60/m, watch: 60/m}}}
behaviours:
  talk:
    start: read
    states:
      read: {do: web.page, sends: 300B, receives: 1KB, expect: 5ms, next: {call: 1}}
      call: {do: voice.call, sends: 160B, receives: 160B, every: 20ms, lasts: 1m, next: {end: 1}}
  watch:
    start: read
    states:
      read: {do: web.page, sends: 300B, receives: 1KB, expect: 5ms, next: {play: 1}}
      play: {do: video.play, sends: 300B, receives: 1KB, every: 200ms, lasts: 1m, next: {end: 1}}
`, users, services, 10*time.Second)
	sum := tally.Sessions{}
	for _, s := range r.Behaviours {
		sum = sum.Plus(s)
	}
	if sum.Started == 0 || sum.Unfinished != sum.Started || r.Calls.Count+r.Videos.Count+r.Videos.Never > 0 {
		t.Errorf("%+v, %+v, %+v", sum, r.Calls, r.Videos)
	}
}
