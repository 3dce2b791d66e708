package play

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

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
	near, far, err := s.lines(other)
	if err != nil {
		return err
	}
	defer near.Close()
	defer far.Close()
	defer s.opened(string(step.Do), "udp", far.to, near.to)()
	var heard [2]leg
	var listening sync.WaitGroup
	for i, l := range []line{near, far} {
		listening.Go(func() { heard[i].listen(l, s.start) })
	}
	sent, err := s.talk(ctx, step, near, far, &heard[0])
	if err == nil { // the last packets are on their way
		slowest := max(heard[0].slowest.Load(), heard[1].slowest.Load())
		sleepUntil(ctx, time.Now().Add(voice.Buffer+min(time.Duration(slowest), time.Second)))
	}
	near.Close()
	far.Close()
	listening.Wait()
	if sent > 0 && !s.left.Load() { // who was taken away is no loss of the network's
		s.rate(heard[:], sent)
	}
	return err
}

// line is one end of a call.
type line struct {
	*net.UDPConn
	to netip.AddrPort
	// met: the ends are connected, as soon as there is a route.
	met bool
}

// send sends a packet. One that cannot be sent is a lost one; what the kernel says of an earlier one takes the place of this one, which
// is sent again.
func (l *line) send(sound []byte) {
	if !l.met {
		l.met = socket.Meet(l.UDPConn, l.to) == nil
	}
	if _, err := l.Write(sound); err != nil {
		l.Write(sound)
	}
}

// lines opens both ends.
func (s *session) lines(other Seat) (near, far line, err error) {
	open := func(n socket.Namespace, a netip.Addr) (*net.UDPConn, netip.AddrPort, error) {
		c, err := n.ListenUDP(netip.AddrPortFrom(a, 0))
		if err != nil {
			return nil, netip.AddrPort{}, err
		}
		return c, c.LocalAddr().(*net.UDPAddr).AddrPort(), nil
	}
	if near.UDPConn, far.to, err = open(s.seat.Namespace, s.address(s.seat)); err != nil {
		return near, far, err
	}
	if far.UDPConn, near.to, err = open(other.Namespace, s.address(other)); err != nil {
		near.Close()
	}
	return near, far, err
}

// talk sends a packet each way each time, until the call ends. Somebody who hears nothing gives up.
func (s *session) talk(ctx context.Context, step plan.Step, near, far line, hears *leg) (sent int, err error) {
	back := step.Sends
	if len(step.Receives) > 0 {
		back = step.Receives[0]
	}
	packets := []struct {
		line
		sound []byte
	}{{near, make([]byte, max(callHeader, step.Sends))}, {far, make([]byte, max(callHeader, back))}}
	end := s.ends(step)
	for at := s.planned; at.Before(end); at = at.Add(step.Every) {
		if !s.await(ctx, at) {
			return sent, ctx.Err()
		}
		for i := range packets {
			p := &packets[i]
			binary.BigEndian.PutUint64(p.sound, uint64(time.Since(s.start)))
			p.send(p.sound)
		}
		sent++
		if s.Patience > 0 && time.Since(s.planned) > s.Patience && hears.count.Load() == 0 {
			return sent, errTired
		}
	}
	if sent == 0 {
		return 0, errEnded
	}
	return sent, nil
}

// leg is what one end hears.
type leg struct {
	voice.Leg
	count   atomic.Int64
	slowest atomic.Int64 // delay, in nanoseconds
}

// listen takes packets from the other end until the socket is closed. Others may be on the network, too, and may have sent something
// before the ends had met. What the kernel says of a packet that was sent (ICMP) is no end.
func (l *leg) listen(c line, epoch time.Time) {
	var b [2048]byte
	for {
		n, from, err := c.ReadFromUDPAddrPort(b[:])
		if said := syscall.Errno(0); err != nil && !errors.As(err, &said) {
			return
		}
		if err != nil || from != c.to || n < callHeader {
			continue
		}
		now := time.Since(epoch)
		if sent := binary.BigEndian.Uint64(b[:]); sent <= uint64(now) { // otherwise it is forged
			delay := now - time.Duration(sent)
			l.Arrive(delay)
			l.count.Add(1)
			l.slowest.Store(max(l.slowest.Load(), int64(delay)))
		}
	}
}

// rate counts a call as its worse direction. Who hears nothing has no call.
func (s *session) rate(heard []leg, sent int) {
	r, lost := 100.0, 0.0
	for i := range heard {
		delay, gone := heard[i].Heard(sent)
		one := voice.R(delay, gone)
		if gone == 1 {
			one = 0
		}
		if one < r {
			r, lost = one, gone
		}
	}
	s.Tally.Call(r, voice.MOS(r), lost)
}
