package play

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/machine"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/voice"
)

// callFar has the user talk with one of another part of the crowd, which plays the other end. The one who calls counts the call.
func (s *session) callFar(ctx context.Context, step plan.Step, far *machine.Peer) error {
	end := s.ends(step)
	if !s.planned.Before(end) {
		return errEnded
	}
	near, err := listen(s.seat.Namespace, s.address(s.seat))
	if err != nil {
		return err
	}
	defer near.Close()
	user := 0
	if s.Plan.Between("voice") && s.with != 0 {
		user = s.with
	}
	waits, cancel := s.patient(ctx, s.planned)
	defer cancel()
	at, bye, err := far.Call(waits, machine.Ring{User: user, From: near.Addr(), Every: step.Every, Size: backOf(step), Lasts: time.Until(end), Of: diary.At(s.Session, s.number)})
	if err != nil {
		return err
	}
	near.to, near.clock = at, far.Clock
	defer s.opened(string(step.Do), "udp", near.Addr(), near.to)()
	begun := time.Now()
	h := s.half(near, step.Sends, begun, end, step.Every)
	failed := h.talk(ctx, func() bool { return s.Patience > 0 && time.Since(begun) > s.Patience && near.count == 0 })
	theirs, err := bye(machine.Heard{Sent: h.sent})
	if err != nil {
		return cmp.Or(failed, err)
	}
	h.hearOut(context.WithoutCancel(ctx), theirs.Sent, failed == nil)
	if h.sent > 0 {
		s.rateLegs(h.heard(theirs.Sent), theirs)
	}
	return failed
}

// Answer has a user of this crowd, or its service, talk with one of another part.
func (p *Player) Answer(ctx context.Context, r machine.Ring, clock func() machine.Clock) (at netip.AddrPort, bye func(theirs machine.Heard) machine.Heard, err error) {
	seat, there := p.called(r.User)
	if !there || r.Every < time.Millisecond || r.Lasts <= 0 || r.Lasts > p.Length+p.Grace || r.Size < 0 || r.Size > maxSound {
		return at, nil, fmt.Errorf("user %d takes no such call", r.User)
	}
	own := ownAddr(seat, r.From.Addr())
	if !own.IsValid() {
		return at, nil, fmt.Errorf("user %d has no address of that family", r.User)
	}
	far, err := listen(seat.Namespace, own)
	if err != nil {
		return at, nil, err
	}
	far.to, far.clock = r.From, clock
	closed := func() {}
	if r.User != 0 { // packets of services are nobody's here
		closed = p.Diary.Open(diary.Flow{Where: r.Of, Do: "voice.call", Protocol: "udp", From: unmapped(far.to), To: unmapped(far.Addr())})
	}
	begun := time.Now()
	h := p.half(far, r.Size, begun, begun.Add(r.Lasts), r.Every)
	ctx, stop := context.WithCancel(ctx)
	var talking sync.WaitGroup
	talking.Go(func() { _ = h.talk(ctx, func() bool { return false }) })
	return far.Addr(), func(theirs machine.Heard) machine.Heard {
		defer far.Close()
		defer closed()
		stop()
		talking.Wait()
		h.hearOut(context.WithoutCancel(ctx), theirs.Sent, theirs.Sent > 0)
		return h.heard(theirs.Sent)
	}, nil
}

// maxSound is how large a packet of sound may be, in bytes: what one of UDP has room for.
const maxSound = 65507

// called is where a user is, or with 0 the service for calls.
func (p *Player) called(user int) (seat Seat, there bool) {
	if user == 0 {
		seat, there = p.Services["voice"]
		return seat, there && seat.Far == nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if user < 1 || user > len(p.users) {
		return Seat{}, false
	}
	seat = p.users[user-1]
	return seat, seat.Far == nil
}

// ownAddr is the address of a seat that is of the family of another one.
func ownAddr(of Seat, other netip.Addr) netip.Addr {
	for _, a := range of.Addrs {
		if a.Is4() == other.Unmap().Is4() {
			return a
		}
	}
	return netip.Addr{}
}

// half is one end of a call whose other end is on another machine.
type half struct {
	*Player
	line       *line
	sound      []byte
	begin, end time.Time
	every      time.Duration
	sent       int
}

func (p *Player) half(l *line, size int64, begin, end time.Time, every time.Duration) *half {
	return &half{Player: p, line: l, sound: make([]byte, max(callHeader, size)), begin: begin, end: end, every: every}
}

// most is how many packets the other end may have sent: one each time, and some more, as it has begun at another moment.
func (h *half) most() int { return int(h.end.Sub(h.begin)/h.every) + 10 }

// talk sends a packet each time, and hears those that come, until the end, or the context's, or until somebody is tired.
func (h *half) talk(ctx context.Context, tired func() bool) (err error) {
	kept := h.pacer().keep(ctx, h.begin, h.every, func(at time.Time) (over bool) {
		h.Tally.Paced(time.Since(at))
		h.line.say(h.sound, h.start)
		h.sent++
		h.line.hear(h.most(), h.start)
		if tired() {
			err = errTired
		}
		return err != nil || !at.Add(h.every).Before(h.end)
	})
	return cmp.Or(kept, err)
}

// hearOut takes the last packets, of which the other end has sent so many in all: those that are there, and with wait those that are on their
// way, as long as they would still be played.
func (h *half) hearOut(ctx context.Context, sent int, wait bool) {
	sent = min(sent, h.most())
	last := time.Now()
	for h.line.hear(sent, h.start); wait && h.line.count < sent; h.line.hear(sent, h.start) {
		left := time.Until(last.Add(voice.Buffer + min(h.line.slowest, time.Second)))
		if left <= 0 || !sleepUntil(ctx, time.Now().Add(min(left, 20*time.Millisecond))) {
			return
		}
	}
}

// heard is what this end has sent, and heard of what the other one has.
func (h *half) heard(theirs int) machine.Heard {
	delay, lost := h.line.Heard(theirs)
	return machine.Heard{Sent: h.sent, Delay: delay, Lost: lost}
}

var _ machine.Answerer = (*Player)(nil)
