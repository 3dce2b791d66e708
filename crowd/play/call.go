package play

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"syscall"
	"time"

	"github.com/heddle-network/heddle/crowd/machine"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/socket"
	"github.com/heddle-network/heddle/crowd/voice"
)

// callHeader is the least size of a packet: when it was sent, since the crowd began, in nanoseconds.
const callHeader = 8

// call has two users talk: packets of sound go both ways, as the clock says. If the other user is not in this crowd, or
// calls go to sites, the service stands in.
func (s *session) call(ctx context.Context, step plan.Step) error {
	other, there := s.Services["voice"]
	if s.Plan.Between("voice") {
		if user, is := s.meet(s.part, step.To); is {
			other, there = user, true
			defer s.hangUp(s.part)
		}
	}
	if !there {
		return errors.New("there is no service voice")
	}
	if other.Far != nil {
		return s.callFar(ctx, step, other.Far)
	}
	near, err := listen(s.seat.Namespace, s.address(s.seat))
	if err != nil {
		return err
	}
	defer near.Close()
	far, err := listen(other.Namespace, s.address(other))
	if err != nil {
		return err
	}
	defer far.Close()
	near.to, far.to = far.Addr(), near.Addr()
	defer s.opened(string(step.Do), "udp", near.Addr(), far.Addr())()
	sent, err := s.talk(ctx, step, near, far)
	near.hear(sent, s.start)
	far.hear(sent, s.start)
	if err == nil {
		s.hearOut(ctx, near, far, sent)
	}
	if sent > 0 && !s.left.Load() { // who was taken away is no loss of the network's
		s.rate([]*line{near, far}, sent)
	}
	return err
}

// talk sends a packet each way each time, until the call ends. Somebody who hears nothing gives up.
func (s *session) talk(ctx context.Context, step plan.Step, near, far *line) (sent int, err error) {
	says, answers := make([]byte, max(callHeader, step.Sends)), make([]byte, max(callHeader, backOf(step)))
	end := s.ends(step)
	if !s.planned.Before(end) {
		return 0, errEnded
	}
	kept := s.pacer().keep(ctx, s.planned, step.Every, func(at time.Time) (over bool) {
		s.Tally.Paced(time.Since(at))
		near.say(says, s.start)
		far.say(answers, s.start)
		sent++
		near.hear(sent, s.start)
		far.hear(sent, s.start)
		if s.Patience > 0 && time.Since(s.planned) > s.Patience && near.count == 0 {
			err = errTired
		}
		return err != nil || !at.Add(step.Every).Before(end)
	})
	return sent, cmp.Or(kept, err)
}

// backOf is the size of what the other end of a call sends.
func backOf(step plan.Step) int64 {
	if len(step.Receives) > 0 {
		return step.Receives[0]
	}
	return step.Sends
}

// hearOut takes the last packets, which are on their way, as long as they would still be played.
func (s *session) hearOut(ctx context.Context, near, far *line, sent int) {
	last := time.Now()
	for near.count < sent || far.count < sent {
		end := last.Add(voice.Buffer + min(max(near.slowest, far.slowest), time.Second))
		wait := min(time.Until(end), 20*time.Millisecond) // the socket has room for what comes meanwhile
		if wait <= 0 || !sleepUntil(ctx, time.Now().Add(wait)) {
			return
		}
		near.hear(sent, s.start)
		far.hear(sent, s.start)
	}
}

// line is one end of a call, and what it hears.
type line struct {
	*socket.Datagram
	to netip.AddrPort
	voice.Leg
	// clock is by how much the other end's clock is ahead; nil is the same clock.
	clock   func() machine.Clock
	count   int
	slowest time.Duration
	buffer  [2048]byte
}

func listen(n socket.Namespace, at netip.Addr) (*line, error) {
	d, err := n.Datagram(at)
	if err != nil {
		return nil, err
	}
	return &line{Datagram: d}, nil
}

// say sends a packet, which says when. One that cannot be sent is a lost one.
func (l *line) say(sound []byte, epoch time.Time) {
	binary.BigEndian.PutUint64(sound, uint64(time.Since(epoch)))
	l.Send(sound, l.to)
}

// hear takes the packets that have come; sent is how many the other end has sent. Others may be on the network, too, and may have
// sent something before the ends had met. What the kernel says of a packet that was sent (ICMP) is no end.
func (l *line) hear(sent int, epoch time.Time) {
	const most = 256 // somebody else may send without an end
	for taken := 0; taken < most && l.count < sent; taken++ {
		n, from, at, err := l.Take(l.buffer[:])
		if errors.Is(err, syscall.EAGAIN) {
			return
		}
		if err != nil || from != l.to || n < callHeader {
			continue
		}
		begun, now, other := binary.BigEndian.Uint64(l.buffer[:]), time.Since(epoch), l.otherClock()
		if begun > uint64(max(0, now+other.Ahead+other.Within)) {
			continue // it is forged
		}
		delay := max(0, at.Sub(epoch)-(time.Duration(begun)-other.Ahead))
		l.Arrive(delay)
		l.count++
		l.slowest = max(l.slowest, delay)
	}
}

// otherClock is that of the other end.
func (l *line) otherClock() machine.Clock {
	if l.clock == nil {
		return machine.Clock{}
	}
	return l.clock()
}

// rate counts a call as its worse direction. Who hears nothing has no call.
func (s *session) rate(lines []*line, sent int) {
	var legs []machine.Heard
	for _, l := range lines {
		delay, gone := l.Heard(sent)
		legs = append(legs, machine.Heard{Delay: delay, Lost: gone})
	}
	s.rateLegs(legs...)
}

// rateLegs counts a call by what both ends have heard.
func (s *session) rateLegs(legs ...machine.Heard) {
	r, lost := 100.0, 0.0
	for _, l := range legs {
		one := voice.R(l.Delay, l.Lost)
		if l.Lost == 1 {
			one = 0
		}
		if one < r {
			r, lost = one, l.Lost
		}
	}
	s.Tally.Call(r, voice.MOS(r), lost)
}
